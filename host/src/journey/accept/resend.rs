//! From a message that is stored to a submission that sends it once more.

use std::sync::Arc;

use super::submission::{Again, Content, Submission};
use crate::mail::raw::RawMessage;
use crate::message::channel::Channel;
use crate::store::StoredMessage;

/// Why a message cannot be sent once more.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotAgain {
    /// Its content has been forgotten.
    #[error("the message's content is no longer kept, so it cannot be sent again")]
    Forgotten,
    /// The server wrote it for its recipient alone.
    #[error(
        "the server wrote this message for its recipient alone, and only the server writes another one"
    )]
    ByServer,
    /// It would not be accepted from a client today.
    #[error("the message's content cannot be sent again: {field}: {reason}")]
    Unfit {
        /// The header field that is at fault.
        field: &'static str,
        /// What is wrong with it.
        reason: String,
    },
}

/// The submission of a message that was sent before. It is not rendered anew, and waits for no moment.
pub fn submission(stored: StoredMessage) -> Result<Submission, NotAgain> {
    let StoredMessage { id, channel, template, return_path, recipient, tags, metadata, content } =
        stored;
    if channel == Channel::Server {
        return Err(NotAgain::ByServer);
    }
    let content = content.ok_or(NotAgain::Forgotten)?;
    let message = RawMessage::renewed(&content).map_err(|unfit| {
        let first = unfit.first();
        NotAgain::Unfit {
            field: first.map_or("", |it| it.field()),
            reason: first.map(ToString::to_string).unwrap_or_default(),
        }
    })?;
    Ok(Submission {
        channel: Channel::Api,
        to: recipient,
        content: Content::Again(Arc::new(Again { id, template, return_path, message })),
        tags,
        metadata,
        send_at: None,
        warnings: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;
    use crate::id::MessageId;
    use crate::store::records::ReturnPath;

    fn stored(content: Option<&str>) -> StoredMessage {
        StoredMessage {
            id: MessageId::new(Timestamp::from_millis(0)),
            channel: Channel::Smtp,
            template: None,
            return_path: ReturnPath::Other(None),
            recipient: "ada@example.com".parse().expect("valid"),
            tags: vec!["t".to_owned()],
            metadata: serde_json::Map::new(),
            content: content.map(|it| it.as_bytes().to_vec()),
        }
    }

    #[test]
    fn what_is_no_longer_kept_cannot_be_sent_again() {
        let error = submission(stored(None)).expect_err("nothing to send");
        assert_eq!(error, NotAgain::Forgotten);
        let error = submission(stored(Some("Subject: no author\r\n\r\n"))).expect_err("unfit");
        assert!(error.to_string().contains("From: is required"), "{error}");
    }

    #[test]
    fn recipient_tags_and_bounce_address_stay() {
        let sent = submission(stored(Some("From: a@example.com\r\n\r\nHi\r\n"))).expect("fit");
        assert_eq!((sent.to.to_string().as_str(), sent.tags.len()), ("ada@example.com", 1));
        let Content::Again(again) = sent.content else { unreachable!("it was sent before") };
        assert_eq!(again.return_path, ReturnPath::Other(None));
    }
}
