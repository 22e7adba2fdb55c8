//! BDAT: receives a message in chunks of announced length (RFC 3030).
//!
//! The octets of a chunk are never read as commands, also where the chunk is not wanted.

use bytes::BytesMut;

use super::chunk::{Chunk, Fate};
use super::data::ready;
use super::{Dialog, State, Step};
use crate::server::command::bdat::{self, Last};
use crate::server::data::{Content, too_large};
use crate::server::reply::{Answer, Reply};

impl Dialog {
    /// Announces a chunk. An error that leaves its end unknown ends the session: what follows may
    /// be content, and must not be read as commands.
    pub(super) fn bdat(&mut self, argument: &[u8]) {
        let limit = self.settings.message_bytes;
        match bdat::parse(argument) {
            Err(answer) => {
                self.say(answer);
                if !self.is_closed() {
                    self.say(Reply::LostTrack);
                }
            }
            Ok(chunk) if chunk.octets > (limit as u64).saturating_mul(4) => {
                self.say(too_large(limit));
                self.close();
            }
            Ok(bdat::Chunk { octets, last }) => {
                let fate = match self.chunk_is_wanted() {
                    Ok(()) => Fate::Kept,
                    Err(answer) => Fate::Refused(answer),
                };
                self.state = State::Chunk(Chunk { announced: octets, left: octets, last, fate });
            }
        }
    }

    pub(super) fn chunk_received(&mut self, input: &mut BytesMut) -> Option<Step> {
        let State::Chunk(chunk) = &mut self.state else { return None };
        let taken = usize::try_from(chunk.left).unwrap_or(usize::MAX).min(input.len());
        let piece = input.split_to(taken);
        chunk.left -= taken as u64;
        if let (Fate::Kept, Some(envelope)) = (&chunk.fate, &mut self.envelope)
            && let Some(content) = &mut envelope.chunks
        {
            content.push(&piece);
        }
        if chunk.left > 0 {
            return Some(Step::Wait);
        }
        let State::Chunk(chunk) = std::mem::replace(&mut self.state, State::Command) else {
            return None;
        };
        self.chunk_ended(chunk)
    }

    /// Whether a chunk may come now; the first one opens the message.
    fn chunk_is_wanted(&mut self) -> Result<(), Answer> {
        ready(self.envelope.as_ref())?;
        let Some(envelope) = &mut self.envelope else { return Ok(()) };
        if envelope.chunk_failed {
            return Err(Reply::OutOfOrder.with("an earlier chunk was refused; send RSET"));
        }
        let (limit, bare_newline) = (self.settings.message_bytes, self.settings.bare_newline);
        envelope.chunks.get_or_insert_with(|| Content::new(limit, bare_newline));
        Ok(())
    }

    fn chunk_ended(&mut self, chunk: Chunk) -> Option<Step> {
        let Chunk { announced, last, fate, .. } = chunk;
        if let Fate::Refused(answer) = fate {
            if last == Last::Yes {
                self.envelope = None;
            }
            self.say(answer);
            return None;
        }
        let envelope = self.envelope.as_mut()?;
        if last == Last::Yes {
            let content = envelope.chunks.take()?;
            return self.complete(content);
        }
        let loss = envelope.chunks.as_ref().and_then(Content::loss);
        envelope.chunk_failed = loss.is_some();
        let taken = || Reply::ChunkTaken.with(format!("{announced} octets taken"));
        self.say(loss.unwrap_or_else(taken));
        None
    }
}
