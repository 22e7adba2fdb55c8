//! The filter `t`: looks up a translation by its key, picks the plural form and fills in the values.

use std::rc::Rc;

use waxwing_html_text::plain;

use super::{Binding, Machine, Stopped, Whose};
use crate::Undefined;
use crate::ast::{FilterCall, Primary};
use crate::filters::{escape_into, is_text};
use crate::locale::{self, Decimal, ENGLISH, Plural};
use crate::messages::{COUNT, DEFAULT, Forms, Message, Piece, Text};
use crate::mode::Mode;
use crate::value::{Str, Value, kind};

impl<'a> Machine<'a> {
    #[inline(never)]
    pub(super) fn translate(
        &mut self,
        key: &Value<'a>,
        call: &'a FilterCall,
    ) -> Result<Value<'a>, Stopped> {
        let Some(key) = key.as_str() else {
            let message = format!("`t` takes the key of a message, found {}", kind(key));
            return Err(Stopped::new("render_error", call.at, message));
        };
        let messages = self.messages;
        let Some(message) = messages.get(key) else {
            if let Some((_, default)) = call.named.iter().find(|(it, _)| &**it == DEFAULT) {
                return Ok(self.primary(default));
            }
            // Keys that are written in the template were checked when it was compiled.
            let message = format!("there is no message `{key}`{}", messages.hint(key));
            let stopped = Stopped::new("unknown_message", call.at, message);
            return Err(Stopped { whose: Whose::Data, ..stopped });
        };
        let mut form = Plural::Other;
        let mut given = Vec::with_capacity(call.named.len());
        for (name, value) in &call.named {
            let origin = self.origin_of(value).map(Rc::from);
            let mut value = self.primary(value);
            if &**name == COUNT {
                (form, value) = self.count_of(&value, message, call)?;
            }
            given.push(Binding { name, value, origin });
        }
        let text = match &message.forms {
            Forms::One(text) => Some(text),
            Forms::Plural(forms) => {
                forms[form as usize].as_ref().or(forms[Plural::Other as usize].as_ref())
            }
        };
        let depth = self.names.scopes.len();
        self.names.scopes.extend(given);
        let written = text.map(|text| self.fill_in(text, message));
        self.names.scopes.truncate(depth);
        Ok(written.unwrap_or(Value::Nil))
    }

    /// The plural form of a count, and the count formatted for the locale. The form `zero`, if given, is for 0 in every
    /// language.
    fn count_of(
        &self,
        count: &Value<'a>,
        message: &Message,
        call: &FilterCall,
    ) -> Result<(Plural, Value<'a>), Stopped> {
        let locale = self.locale.unwrap_or(&ENGLISH);
        let Some(number) = Decimal::of(count) else {
            if matches!(count, Value::Nil) && self.undefined == Undefined::Nil {
                return Ok((Plural::Other, Value::Nil));
            }
            let message = format!("`{COUNT}` of `t` is a number, found {}", kind(count));
            return Err(Stopped::new("render_error", call.at, message));
        };
        let is_zero = number.whole.is_empty() && number.fraction.is_empty();
        let has_zero =
            matches!(&message.forms, Forms::Plural(it) if it[Plural::Zero as usize].is_some());
        let form = if is_zero && has_zero { Plural::Zero } else { locale.plural(number.clone()) };
        Ok((form, locale::number(number, locale, None).into()))
    }

    /// The translation with its values. The result is plain text if all pieces are, otherwise markup with its plain
    /// pieces escaped; in a plain-text part markup is reduced to its text.
    fn fill_in(&mut self, text: &'a Text, message: &Message) -> Value<'a> {
        let is_markup = message.is_markup;
        let values: Vec<_> = text.iter().map(|it| self.piece(it)).collect();
        if !is_markup && (self.mode == Mode::Text || values.iter().all(is_text)) {
            let text: String = values.iter().map(|it| it.to_output().to_string()).collect();
            return text.into();
        }
        let mut out = String::new();
        for (piece, value) in text.iter().zip(&values) {
            match (piece, value) {
                (_, Value::Safe(it)) => out.push_str(it),
                (Piece::Text(it), _) if is_markup => out.push_str(it),
                (Piece::Text(_) | Piece::Value(_), it) => escape_into(&it.to_output(), &mut out),
            }
        }
        if self.mode == Mode::Text { plain(&out).into() } else { Value::Safe(out.into()) }
    }

    fn piece(&mut self, it: &'a Piece) -> Value<'a> {
        let primary = match it {
            Piece::Text(it) => return Value::Str(Str::Borrowed(it)),
            Piece::Value(it) => it,
        };
        let value = self.primary(primary);
        if self.undefined == Undefined::Required
            && let Value::Array(_) | Value::Object(_) = value
            && let Primary::Path(path) = primary
        {
            let path = self.origin(path);
            self.wrong_type(path, &format!("{} is written by a message", kind(&value)));
            return Value::Nil;
        }
        value
    }
}
