//! The texts that name something in a path or a query.

use serde::Serialize;
use utoipa::ToSchema;

/// How many things a list gives: 50 where nothing is said, and never more than 500.
#[derive(Serialize, ToSchema)]
#[schema(minimum = 1, maximum = 4_294_967_295_u64, example = 50)]
pub struct Limit(u64);

/// A number of things.
#[derive(Serialize, ToSchema)]
#[schema(minimum = 0, maximum = 4_294_967_295_u64)]
pub struct Count(u64);

/// An account.
#[derive(Serialize, ToSchema)]
#[schema(pattern = "^acc_[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$")]
pub struct AccountRef(String);

/// A message.
#[derive(Serialize, ToSchema)]
#[schema(pattern = "^msg_[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$")]
pub struct MessageRef(String);

/// A sender domain.
#[derive(Serialize, ToSchema)]
#[schema(pattern = "^dom_[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$")]
pub struct DomainRef(String);

/// A decision.
#[derive(Serialize, ToSchema)]
#[schema(pattern = "^dec_[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$")]
pub struct DecisionRef(String);

/// A decision, or the message that it was about.
#[derive(Serialize, ToSchema)]
#[schema(pattern = "^(dec|msg)_[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$")]
pub struct DecisionOrMessage(String);

/// A webhook.
#[derive(Serialize, ToSchema)]
#[schema(pattern = "^whk_[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$")]
pub struct WebhookRef(String);

/// An event.
#[derive(Serialize, ToSchema)]
#[schema(pattern = "^evt_[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$")]
pub struct EventRef(String);

/// A slot of plugins.
#[derive(Serialize, ToSchema)]
#[schema(pattern = "^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$", example = "plan-policy")]
pub struct SlotRef(String);

/// How many answers may change: any, none without being asked, or so many.
#[derive(Serialize, ToSchema)]
#[schema(pattern = "^(auto|ask|[0-9]{1,9})$", example = "ask")]
pub struct ImpactRule(String);

/// A component.
#[derive(Serialize, ToSchema)]
#[schema(value_type = String, format = Binary, min_length = 1)]
pub struct Component(Vec<u8>);

/// A component, or nothing.
#[derive(Serialize, ToSchema)]
#[schema(value_type = String, format = Binary)]
pub struct ComponentOrNothing(Vec<u8>);
