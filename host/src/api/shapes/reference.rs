//! The texts that name something in a path or a query.

use serde::Serialize;
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::id::{AccountId, DecisionId, DomainId, EventId, KeyId, MessageId, UserId, WebhookId};

macro_rules! identifiers {
    ($($id:ty: $prefix:literal, $about:literal;)*) => {$(
        impl ToSchema for $id {}

        impl PartialSchema for $id {
            fn schema() -> RefOr<Schema> {
                let ulid = "[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}";
                let pattern = format!("^{}{ulid}$", $prefix);
                let text = ObjectBuilder::new().schema_type(Type::String).pattern(Some(pattern));
                text.description(Some($about)).into()
            }
        }
    )*};
}

identifiers! {
    AccountId: "acc_", "An account.";
    KeyId: "key_", "An API key.";
    MessageId: "msg_", "A message.";
    DomainId: "dom_", "A sender domain.";
    DecisionId: "dec_", "A decision.";
    WebhookId: "whk_", "A webhook.";
    EventId: "evt_", "An event.";
    UserId: "usr_", "A user.";
}

/// Items of a page, at most 500. Default: 50.
#[derive(Serialize, ToSchema)]
#[schema(minimum = 1, maximum = 4_294_967_295_u64, example = 50)]
pub struct Limit(u64);

/// A number of things.
#[derive(Serialize, ToSchema)]
#[schema(minimum = 0, maximum = 4_294_967_295_u64)]
pub struct Count(u64);

/// A decision, or the message that it was about.
#[derive(Serialize, ToSchema)]
#[schema(pattern = "^(dec|msg)_[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$")]
pub struct DecisionOrMessage(String);

/// A slot of plugins.
#[derive(Serialize, ToSchema)]
#[schema(pattern = "^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$", example = "plan-policy")]
pub struct SlotRef(String);

/// The settings of a plugin.
#[derive(Serialize, ToSchema)]
#[schema(value_type = Object)]
pub struct PluginSettings(serde_json::Map<String, serde_json::Value>);

/// How many answers may change without the operator's approval: any (`auto`), none (`ask`), or at most this number.
#[derive(Serialize, ToSchema)]
#[schema(pattern = "^(auto|ask|[0-9]{1,9})$", example = "ask")]
pub struct ImpactRule(String);

/// A component.
#[derive(Serialize, ToSchema)]
#[schema(value_type = String, format = Binary, min_length = 1)]
pub struct Component(Vec<u8>);

/// A zip file with a folder for each template, and the folders `_layouts` and `_partials`.
#[derive(Serialize, ToSchema)]
#[schema(value_type = String, format = Binary, min_length = 1)]
pub struct Archive(Vec<u8>);

/// A component, or nothing.
#[derive(Serialize, ToSchema)]
#[schema(value_type = String, format = Binary)]
pub struct ComponentOrNothing(Vec<u8>);
