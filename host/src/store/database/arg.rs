//! What can be bound to a statement: the kinds of values that every database has. A null has a kind, too,
//! for PostgreSQL asks for it.

use std::convert::identity;
use std::fmt::Write as _;

use sqlx::Arguments as _;
use sqlx::sqlite::SqliteArguments;

use crate::id::{
    AccountId, DecisionId, DomainId, EventId, Identifier, KeyId, MessageId, SessionId, TemplateId,
    UserId, WebhookId,
};

/// A value to bind.
#[derive(Debug)]
pub enum Arg {
    Integer(Option<i64>),
    Flag(Option<bool>),
    Text(Option<String>),
    Bytes(Option<Vec<u8>>),
    Id(Option<[u8; 16]>),
}

/// What becomes an [`Arg`].
pub trait IntoArg {
    /// Nothing, of this kind.
    const NULL: Arg;

    fn into_arg(self) -> Arg;
}

impl Arg {
    pub(super) fn add_to(self, arguments: &mut SqliteArguments) {
        let added = match self {
            Self::Integer(value) => arguments.add(value),
            Self::Flag(value) => arguments.add(value),
            Self::Text(value) => arguments.add(value),
            Self::Bytes(value) => arguments.add(value),
            Self::Id(value) => arguments.add(value.map(|it| it.to_vec())),
        };
        added.expect("the driver encodes these kinds without a failure");
    }
}

impl<T: IntoArg> IntoArg for Option<T> {
    const NULL: Arg = T::NULL;

    fn into_arg(self) -> Arg {
        self.map_or(T::NULL, T::into_arg)
    }
}

macro_rules! kinds {
    ($($type:ty => $kind:ident, $convert:expr;)+) => {$(
        impl IntoArg for $type {
            const NULL: Arg = Arg::$kind(None);

            fn into_arg(self) -> Arg {
                Arg::$kind(Some($convert(self)))
            }
        }
    )+};
}

kinds! {
    i64 => Integer, identity;
    u32 => Integer, i64::from;
    u16 => Integer, i64::from;
    bool => Flag, identity;
    String => Text, identity;
    &String => Text, String::clone;
    &str => Text, str::to_owned;
    Vec<u8> => Bytes, identity;
    &Vec<u8> => Bytes, Vec::clone;
    &[u8] => Bytes, <[u8]>::to_vec;
    [u8; 16] => Id, identity;
    AccountId => Id, Identifier::to_bytes;
    DecisionId => Id, Identifier::to_bytes;
    DomainId => Id, Identifier::to_bytes;
    EventId => Id, Identifier::to_bytes;
    KeyId => Id, Identifier::to_bytes;
    MessageId => Id, Identifier::to_bytes;
    SessionId => Id, Identifier::to_bytes;
    TemplateId => Id, Identifier::to_bytes;
    UserId => Id, Identifier::to_bytes;
    WebhookId => Id, Identifier::to_bytes;
}

impl IntoArg for &Option<String> {
    const NULL: Arg = Arg::Text(None);

    fn into_arg(self) -> Arg {
        Arg::Text(self.clone())
    }
}

/// A row of values for [`super::inserts`].
macro_rules! args {
    ($($value:expr),+ $(,)?) => {
        [$($crate::store::database::IntoArg::into_arg($value)),+]
    };
}

pub(crate) use args;

/// An identifier within JSON: its bytes in hexadecimal digits, which the text reads by `unhex`.
pub fn digits<T: Identifier>(id: T) -> String {
    format!("{:032X}", u128::from_be_bytes(id.to_bytes()))
}

/// Identifiers as a list.
pub fn hexadecimal<T: Identifier>(ids: impl IntoIterator<Item = T>) -> String {
    let mut text = String::from("[");
    for id in ids {
        let separator = if text.len() == 1 { "" } else { "," };
        write!(text, "{separator}\"{:032X}\"", u128::from_be_bytes(id.to_bytes()))
            .expect("a string takes everything");
    }
    text.push(']');
    text
}

/// JSON text of our own values.
pub fn to_json<T: serde::Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).expect("our own values have string keys only")
}
