//! A message as the next hop gets it: signed, and in seven bits where the hop lacks 8BITMIME.

use crate::mail::seven_bit::{is_eight_bit, to_seven_bit};
use crate::store::records::Lease;

use super::dkim::{DkimSigner, Signed};
use crate::delivery::outcome::{Deferral, FailureReason, Outcome};
use crate::delivery::smtp::Extensions;

/// How an attempt ends whose message cannot be made ready, and what happened.
pub type Unready = (Outcome, String);

#[derive(Debug)]
pub struct OutboundMessage<'a> {
    lease: &'a Lease,
    raw: Vec<u8>,
    content: Vec<u8>,
    /// Whether it has octets over 127.
    pub is_eight_bit: bool,
    /// Whether its header has them (RFC 6532): such a message needs SMTPUTF8.
    pub is_international: bool,
}

impl<'a> OutboundMessage<'a> {
    pub async fn sign(
        lease: &'a Lease,
        raw: Vec<u8>,
        signer: &DkimSigner,
    ) -> Result<Self, Unready> {
        let content = sign(lease, &raw, signer).await?;
        let is_eight_bit = is_eight_bit(&raw);
        let header_end = raw.windows(4).position(|it| it == b"\r\n\r\n").unwrap_or(raw.len());
        let is_international = raw.iter().take(header_end).any(|byte| !byte.is_ascii());
        Ok(Self { lease, raw, content, is_eight_bit, is_international })
    }

    #[must_use]
    pub fn content(&self) -> &[u8] {
        &self.content
    }

    /// Prepares the message for a hop: one without 8BITMIME (RFC 6152) gets it in seven bits,
    /// signed anew.
    pub async fn for_hop(
        &mut self,
        extensions: &Extensions,
        signer: &DkimSigner,
    ) -> Result<(), Unready> {
        if !self.is_eight_bit || self.is_international || extensions.eight_bit_mime {
            return Ok(());
        }
        let converted = to_seven_bit(&self.raw).map_err(|error| {
            let words = format!("the next server takes no 8-bit messages, and {error}");
            (Outcome::Failed(FailureReason::Unconvertible), words)
        })?;
        self.content = sign(self.lease, &converted, signer).await?;
        self.raw = converted;
        self.is_eight_bit = false;
        Ok(())
    }
}

async fn sign(lease: &Lease, raw: &[u8], signer: &DkimSigner) -> Result<Vec<u8>, Unready> {
    match signer.sign(lease, raw).await {
        Signed::Message(content) => Ok(content),
        Signed::Unsigned => Ok(raw.to_vec()),
        Signed::Defer(reason) => Err((Outcome::Deferred(Deferral::NoReply), reason)),
        Signed::Fail(reason) => Err((Outcome::Failed(FailureReason::Other), reason)),
    }
}
