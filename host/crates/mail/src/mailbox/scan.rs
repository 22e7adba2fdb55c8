//! Tokenizes an address field (From, To, …) into words, comments and angle addresses (RFC 5322 section 3.4).

use super::invalid_mailbox::InvalidMailbox;
use crate::field::decode_words;

/// Comments in comments, at most.
const MAX_DEPTH: usize = 8;
/// Special outside quotes (RFC 5322 section 3.2.3), except those that start a token or are legal in an address.
const SPECIAL: [char; 5] = [')', '>', '\\', ']', ';'];

/// One token of a mailbox.
pub(super) enum Token<'a> {
    /// A word of the name, or a bare address.
    Word(Word<'a>),
    /// What stood in parentheses, without the outer ones.
    Comment(String),
    /// What stood in angle brackets.
    Angle(&'a str),
}

pub(super) enum Word<'a> {
    /// As it stands: no space in it, but in the quotes of a local part.
    Plain(&'a str),
    /// What stood in quotes, without them.
    Quoted(String),
}

/// Reads a value from left to right.
pub(super) struct Scanner<'a> {
    rest: &'a str,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(value: &'a str) -> Self {
        Self { rest: value }
    }

    /// What is not read yet.
    pub(super) fn rest(&self) -> &'a str {
        self.rest
    }

    /// Skips this character if it is the next one; returns whether it was.
    pub(super) fn skip(&mut self, c: char) -> bool {
        let after = self.rest.strip_prefix(c);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    /// Reads white space.
    pub(super) fn skip_space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
    }

    /// Reads the token at the current position, which must not be white space; none at a comma or at the end.
    pub(super) fn token(&mut self) -> Result<Option<Token<'a>>, InvalidMailbox> {
        let rest = self.rest;
        match rest.chars().next() {
            None | Some(',') => Ok(None),
            Some(':') => Err(InvalidMailbox::Group),
            Some('(') => self.comment().map(|text| Some(Token::Comment(text))),
            Some('<') => self.angle().map(|text| Some(Token::Angle(text))),
            Some('"') => {
                let text = self.quoted()?;
                // A quoted local part: the address goes on behind the quotes.
                if self.rest.starts_with(['@', '.']) {
                    self.plain()?;
                    return Ok(Some(Token::Word(Word::Plain(self.read_since(rest)))));
                }
                Ok(Some(Token::Word(Word::Quoted(text))))
            }
            Some(_) => {
                self.plain()?;
                Ok(Some(Token::Word(Word::Plain(self.read_since(rest)))))
            }
        }
    }

    fn read_since(&self, before: &'a str) -> &'a str {
        let read = before.len().saturating_sub(self.rest.len());
        before.split_at_checked(read).map_or(before, |(text, _)| text)
    }

    fn next(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let next = chars.next();
        self.rest = chars.as_str();
        next
    }

    /// Reads up to white space or to what begins another token.
    fn plain(&mut self) -> Result<(), InvalidMailbox> {
        let mut before = ' ';
        while let Some(c) = self.rest.chars().next() {
            match c {
                ' ' | '\t' | ',' | '(' | '<' => break,
                ':' => return Err(InvalidMailbox::Group),
                '[' if before == '@' => self.literal()?,
                // `a."b"@example.com`, and names like `O"Neil`.
                '"' | '[' => return Err(InvalidMailbox::Special(c)),
                c if SPECIAL.contains(&c) => return Err(InvalidMailbox::Special(c)),
                c => {
                    before = c;
                    self.next();
                }
            }
        }
        Ok(())
    }

    /// Reads up to the `]` of an address literal; the address parser validates it.
    fn literal(&mut self) -> Result<(), InvalidMailbox> {
        let end = self.rest.find(']').ok_or(InvalidMailbox::Unclosed('['))?;
        self.rest = self.rest.split_at(end).1;
        self.next();
        Ok(())
    }

    fn quoted(&mut self) -> Result<String, InvalidMailbox> {
        self.next();
        let mut text = String::new();
        while let Some(c) = self.next() {
            match c {
                '"' => return Ok(text),
                '\\' => text.push(self.next().ok_or(InvalidMailbox::Unclosed('"'))?),
                c => text.push(c),
            }
        }
        Err(InvalidMailbox::Unclosed('"'))
    }

    fn comment(&mut self) -> Result<String, InvalidMailbox> {
        self.next();
        let mut text = String::new();
        let mut depth = 1;
        while let Some(c) = self.next() {
            match c {
                '(' if depth == MAX_DEPTH => return Err(InvalidMailbox::TooDeep),
                '(' => depth += 1,
                ')' if depth == 1 => return Ok(decode_words(&text)),
                ')' => depth -= 1,
                '\\' => {
                    text.push(self.next().ok_or(InvalidMailbox::Unclosed('('))?);
                    continue;
                }
                _ => {}
            }
            text.push(c);
        }
        Err(InvalidMailbox::Unclosed('('))
    }

    /// Reads to the closing bracket; one in a quoted local part does not close.
    fn angle(&mut self) -> Result<&'a str, InvalidMailbox> {
        self.next();
        let inside = self.rest;
        while let Some(c) = self.rest.chars().next() {
            match c {
                '>' => {
                    let text = self.read_since(inside);
                    self.next();
                    return Ok(text.trim_matches([' ', '\t']));
                }
                '"' => {
                    self.quoted()?;
                }
                _ => {
                    self.next();
                }
            }
        }
        Err(InvalidMailbox::Unclosed('<'))
    }
}
