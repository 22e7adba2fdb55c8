//! Commands: each goes to its handler; those that need none are answered here.

use super::{Dialog, Outcome};
use crate::server::command::{Verb, expect_no_argument, split_verb};
use crate::server::reply::Reply;

impl Dialog {
    pub(super) fn command(&mut self, line: &[u8]) -> Outcome {
        let (verb, argument) = split_verb(line)?;
        let reply = match verb {
            Verb::Ehlo => return self.ehlo(argument),
            Verb::Helo => return self.helo(argument),
            Verb::StartTls => return self.start_tls(argument),
            Verb::Auth => return self.auth(argument),
            Verb::Mail => return self.mail(argument),
            Verb::Rcpt => return self.rcpt(argument),
            Verb::Data => return self.data(argument),
            Verb::Bdat => {
                self.bdat(argument);
                return Ok(None);
            }
            Verb::Rset => {
                expect_no_argument(argument)?;
                self.envelope = None;
                Reply::Done
            }
            Verb::Quit => {
                expect_no_argument(argument)?;
                Reply::Bye
            }
            Verb::Noop => Reply::Done,
            Verb::Vrfy => Reply::CannotVerify,
            Verb::Expn => Reply::NotOffered,
            Verb::Help => Reply::Help,
        };
        self.say(reply);
        Ok(None)
    }
}
