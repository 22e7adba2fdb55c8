//! What can be bound to a statement: the kinds of values that every database has. A null has a kind, too,
//! for PostgreSQL asks for it.

use std::borrow::Cow;
use std::convert::identity;
use std::fmt::Write as _;

use sqlx::Arguments as _;
use sqlx::sqlite::SqliteArguments;

use crate::id::{
    AccountId, DecisionId, DomainId, EventId, Identifier, KeyId, MessageId, SessionId, TemplateId,
    UserId, WebhookId,
};

/// A value to bind, which may be borrowed until the statement has run.
#[derive(Debug)]
pub enum Arg<'a> {
    Integer(Option<i64>),
    Flag(Option<bool>),
    Text(Option<Cow<'a, str>>),
    Bytes(Option<Cow<'a, [u8]>>),
    Id(Option<[u8; 16]>),
    /// A list of texts, or of numbers, as JSON.
    Texts(String),
    Integers(String),
    Ids(Vec<[u8; 16]>),
}

/// What becomes an [`Arg`].
pub trait IntoArg<'a> {
    /// Nothing, of this kind.
    const NULL: Arg<'a>;

    fn into_arg(self) -> Arg<'a>;
}

impl Arg<'_> {
    pub(super) fn add_to(self, arguments: &mut SqliteArguments) {
        let added = match self {
            Self::Integer(value) => arguments.add(value),
            Self::Flag(value) => arguments.add(value),
            Self::Text(value) => arguments.add(value.map(Cow::into_owned)),
            Self::Bytes(value) => arguments.add(value.map(Cow::into_owned)),
            Self::Id(value) => arguments.add(value.map(|it| it.to_vec())),
            Self::Texts(list) | Self::Integers(list) => arguments.add(list),
            Self::Ids(list) => arguments.add(hexadecimal(&list)),
        };
        added.expect("the driver encodes these kinds without a failure");
    }
}

impl<'a, T: IntoArg<'a>> IntoArg<'a> for Option<T> {
    const NULL: Arg<'a> = T::NULL;

    fn into_arg(self) -> Arg<'a> {
        self.map_or(T::NULL, T::into_arg)
    }
}

macro_rules! kinds {
    ($a:lifetime; $($type:ty => $kind:ident, $convert:expr;)+) => {$(
        impl<$a> IntoArg<$a> for $type {
            const NULL: Arg<$a> = Arg::$kind(None);

            fn into_arg(self) -> Arg<$a> {
                Arg::$kind(Some($convert(self)))
            }
        }
    )+};
}

kinds! {
    'a;
    i64 => Integer, identity;
    u32 => Integer, i64::from;
    u16 => Integer, i64::from;
    bool => Flag, identity;
    String => Text, Cow::from;
    &'a String => Text, Cow::from;
    &'a str => Text, Cow::from;
    Vec<u8> => Bytes, Cow::from;
    &'a Vec<u8> => Bytes, Cow::from;
    &'a [u8] => Bytes, Cow::from;
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

impl<'a> IntoArg<'a> for &'a Option<String> {
    const NULL: Arg<'a> = Arg::Text(None);

    fn into_arg(self) -> Arg<'a> {
        Arg::Text(self.as_deref().map(Cow::Borrowed))
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

/// Identifiers as a list of JSON.
pub(super) fn hexadecimal(ids: &[[u8; 16]]) -> String {
    let mut text = String::with_capacity(ids.len() * (32 + "\"\",".len()) + "[]".len());
    text.push('[');
    for id in ids {
        let separator = if text.len() == 1 { "" } else { "," };
        write!(text, "{separator}\"{:032X}\"", u128::from_be_bytes(*id))
            .expect("a string takes everything");
    }
    text.push(']');
    text
}

/// JSON text of our own values.
pub fn to_json<T: serde::Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).expect("our own values have string keys only")
}
