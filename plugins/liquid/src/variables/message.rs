//! What the messages of `t` read.

use super::reads::Reading;
use super::walk::{Meaning, Walker, Way};
use crate::ast::FilterCall;
use crate::messages::{COUNT, DEFAULT, Forms, Message, Piece};

impl<'a> Walker<'a> {
    /// A message sees the names of the template, and before these the arguments. An argument is read where the
    /// message reads it.
    pub(super) fn message(&mut self, call: &'a FilterCall, key: Option<&'a str>) {
        let mut given: Vec<(&'a str, Meaning)> = Vec::new();
        for (name, value) in &call.named {
            let is_read = matches!(&**name, COUNT) || key.is_none();
            if is_read {
                self.primary(value, Reading::Required);
            }
            let meaning = if &**name == DEFAULT { None } else { Some(self.named(value)) };
            given.extend(meaning.map(|it| (&**name, it)));
        }
        let depth = self.scopes.len();
        let names = given.iter().map(|(name, _)| *name).collect();
        self.scopes.extend(given);
        let messages = self.messages;
        match key {
            Some(key) => {
                if let Some(it) = messages.get(key) {
                    self.forms(it);
                }
            }
            // Any message may be meant: what they read is needed for none of them.
            None if self.any_message_with.insert(names) => {
                for it in messages.iter().flat_map(Message::texts).flatten() {
                    self.piece(it, Reading::Optional);
                }
            }
            None => {}
        }
        self.scopes.truncate(depth);
    }

    /// One of the forms is written: what all of them read is needed.
    fn forms(&mut self, it: &'a Message) {
        match &it.forms {
            Forms::One(text) => text.iter().for_each(|it| self.piece(it, Reading::Printed)),
            Forms::Plural(forms) => self.ways(|walk| {
                let mut ways = Vec::new();
                for form in forms.iter().flatten() {
                    let look = |walk: &mut Self| {
                        for it in form {
                            walk.piece(it, Reading::Printed);
                        }
                    };
                    ways.push(Way { reads: walk.read_by(look), ..Way::default() });
                }
                ways
            }),
        }
    }

    fn piece(&mut self, it: &'a Piece, reading: Reading) {
        self.spend(1);
        if let Piece::Value(it) = it {
            self.primary(it, reading);
        }
    }
}
