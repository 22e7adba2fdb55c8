//! How a server breaks the protocol.

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// A line that does not begin with a reply code.
    #[error("a line of the server is no SMTP reply")]
    NoReply,
    /// Lines of one reply with several codes.
    #[error("the lines of one reply have different codes")]
    MixedCodes,
    /// A line over 2 KiB.
    #[error("a line of the server's reply is over 2 KiB long")]
    LineTooLong,
    /// A reply of over 200 lines or 64 KiB.
    #[error("a reply of the server does not end")]
    TooLong,
    /// A reply that has no meaning where it stands.
    #[error("the server answers {0} where that means nothing")]
    Unexpected(u16),
    /// A reply without a command, so that replies no longer match commands.
    #[error("the server sends a reply to no command")]
    Unsolicited,
    /// Octets behind the reply to STARTTLS: somebody put them in (CVE-2011-0411).
    #[error("there is plain text behind the reply to STARTTLS")]
    Injected,
}
