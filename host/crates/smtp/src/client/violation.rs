//! How a remote server breaks the SMTP protocol.

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// A line that does not begin with a reply code.
    #[error("the server sent a line that is no SMTP reply")]
    NotAReply,
    /// Lines of one reply with several codes.
    #[error("the server sent one reply with different codes in its lines")]
    MixedCodes,
    /// A line over 2 KiB.
    #[error("the server sent a reply with a line of over 2 KiB")]
    LineTooLong,
    /// A reply of over 200 lines or 64 KiB.
    #[error("the server sent a reply of over 200 lines or 64 KiB")]
    TooLong,
    /// A reply that has no meaning where it stands.
    #[error("the server answered {0}, which is not valid at this point")]
    Unexpected(u16),
    /// A reply without a command, so that replies no longer match commands.
    #[error("the server sent a reply that no command asked for")]
    Unsolicited,
    /// Octets behind the reply to STARTTLS: somebody put them in (CVE-2011-0411).
    #[error("the server sent plain text between its reply to STARTTLS and the TLS handshake")]
    Injected,
}
