//! The closed list of replies: codes, usual text, and what the manual says about each.

/// The part of the manual that a reply stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Topic {
    /// The session is ended.
    Session,
    /// Logging in.
    Login,
    /// Sender, recipients and size of one message.
    Envelope,
    /// One message, after its end.
    Message,
    /// The server cannot take it now.
    Outage,
    /// The client does not speak SMTP as it should.
    Protocol,
    /// A report comes back, at the listener for reports.
    Report,
    /// Nothing is wrong.
    Success,
}

macro_rules! replies {
    ($($topic:ident { $(
        $name:ident = $code:literal $enhanced:literal $text:literal, $when:literal,
            $cause:literal, $remedy:literal;
    )* })*) => {
        /// A reply to a client.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Reply {$($(
            #[doc = $cause]
            $name,
        )*)*}

        impl Reply {
            /// All of them, in the order of the manual.
            pub const ALL: &'static [Self] = &[$($(Self::$name,)*)*];

            /// The code of RFC 5321.
            #[must_use]
            pub fn code(self) -> u16 {
                match self {$($(Self::$name => $code,)*)*}
            }

            /// The code of RFC 3463; greetings, challenges and offers have none (RFC 2034).
            #[must_use]
            pub fn enhanced(self) -> Option<&'static str> {
                let code = match self {$($(Self::$name => $enhanced,)*)*};
                (!code.is_empty()).then_some(code)
            }

            /// Its words; where they name what was sent, an example of them.
            #[must_use]
            pub fn text(self) -> &'static str {
                match self {$($(Self::$name => $text,)*)*}
            }

            /// The command that it replies to.
            #[must_use]
            pub fn when(self) -> &'static str {
                match self {$($(Self::$name => $when,)*)*}
            }

            #[must_use]
            pub fn cause(self) -> &'static str {
                match self {$($(Self::$name => $cause,)*)*}
            }

            /// What to do about it.
            #[must_use]
            pub fn remedy(self) -> &'static str {
                match self {$($(Self::$name => $remedy,)*)*}
            }

            /// The part of the manual that it stands in.
            #[must_use]
            pub fn topic(self) -> Topic {
                match self {$($(Self::$name => Topic::$topic,)*)*}
            }
        }
    };
}

replies! {
Login {
    LoginRequired = 530 "5.7.0" "UNAUTHORIZED log in first: AUTH with the API key as user name and as password", "MAIL",
        "The program sends without logging in.",
        "Switch on authentication (\"My server requires authentication\", \"SMTP AUTH\"), with the API key as user name and as password.";
    WrongKey = 535 "5.7.8" "UNAUTHORIZED the API key is not valid; give it as user name and as password", "AUTH",
        "The API key is unknown, expired or switched off, or the user name is another one. Where the server's operator allows it (`smtp.user_names`), the user name may also be `apikey` or the address of the account.",
        "Enter one valid API key twice: as user name and as password. Look for a space or a line break that was copied with it.";
    LoginNotAllowed = 535 "5.7.8" "FORBIDDEN the key may not be used from this address", "AUTH",
        "The key is valid and may not be used in this way; the text says why.",
        "Make a key that may send, and that is allowed from the address of this machine.";
    TlsRequired = 538 "5.7.11" "UNAUTHORIZED encryption is needed first: STARTTLS, or the port with implicit TLS", "AUTH",
        "The program logs in over a connection that is not encrypted.",
        "Switch on STARTTLS for port 587 or 2587, or SSL/TLS for port 465 or 2465. The key has crossed the network in clear text: make a new one.";
    TooManyLogins = 421 "4.7.0" "RATE_LIMITED the API key is not valid, and this IP address has had too many failed logins; a valid key works at once, this one may be tried again in 60 s", "AUTH",
        "The API key is not valid, and too many failed logins came from this address, over SMTP or HTTP.",
        "Correct the key in all programs behind this address; the right one is taken at once. Only wrong ones are slowed down.";
    TooManyFailedLogins = 421 "4.7.0" "RATE_LIMITED three failed logins in one session", "AUTH",
        "Three failed logins in one session.",
        "Correct the API key.";
    LoginOutage = 454 "4.7.0" "UNAVAILABLE the key cannot be checked now", "AUTH",
        "The server could not look the key up. The key may be right.",
        "Nothing: try again in a minute. If it lasts, the operator looks into the server's log.";
    UnknownMechanism = 504 "5.5.4" "only AUTH PLAIN and AUTH LOGIN are offered", "AUTH",
        "The client requests another way to log in, such as CRAM-MD5 or XOAUTH2.",
        "Choose \"normal password\", PLAIN or LOGIN.";
    LoginCanceled = 501 "5.7.0" "the login was canceled", "AUTH",
        "The program broke the login off.",
        "See what the program itself reports.";
    BadBase64 = 501 "5.5.2" "the login is not valid base64, or not of the form of its mechanism", "AUTH",
        "The program encodes the login wrongly.",
        "Try the other mechanism, PLAIN or LOGIN, or update the program.";
}
Message {
    DomainNotVerified = 550 "5.7.1" "DOMAIN_NOT_VERIFIED example.com 75% (missing DKIM)", "MAIL, end of data",
        "The domain of a sender (of the header From or Sender, or of the envelope) is not a fully verified domain of the account.",
        "Send from an address of a verified domain; or publish the DNS records that are missing and let the domain be checked again.";
    Unpaid = 451 "4.7.0" "INSUFFICIENT_BALANCE need 3, have 1", "end of data",
        "The account has fewer credits than the message costs. Nothing was charged.",
        "Add credits. A client with a queue then sends the message by itself.";
    UnpaidForGood = 550 "5.7.1" "INSUFFICIENT_BALANCE need 3, have 1", "end of data",
        "The same, on a server that is set to refuse such messages for good.",
        "Add credits and send the message again.";
    RestrictedTemplate = 550 "5.7.1" "RESTRICTED_TEMPLATE the template needs the plan pro", "end of data",
        "The account's plan does not allow this template.",
        "Choose another template or another plan.";
    Forbidden = 550 "5.7.1" "FORBIDDEN the key may not send from example.com", "MAIL, RCPT, end of data",
        "The key, the account or the plan policy does not allow this message; the text says why.",
        "Do what the text says, or ask the operator of the server.";
    ForbiddenForNow = 451 "4.7.1" "FORBIDDEN no messages at night; try again in 3600 s", "MAIL, RCPT, end of data",
        "The plan policy does not allow this message at this time.",
        "Nothing: a client with a queue tries again.";
    BadContent = 554 "5.6.0" "BAD_REQUEST From: is required", "end of data",
        "The message itself is wrong. Each line of the reply names one fault: a header, a variable of the template, a NUL, a header field that is not ASCII and cannot be encoded (an address, octets that are not UTF-8, or a field under a DKIM-Signature), or a line of over 998 octets in the header or under a signature. Elsewhere such lines and letters are encoded.",
        "Correct what the reply names. Lines that are too long: fold the field, or encode the body as quoted-printable or base64 before it is signed.";
    BareLineEnding = 550 "5.6.11" "BAD_REQUEST the message has a CR or an LF that stands alone; lines end in CRLF", "end of data",
        "A CR stands alone in the message; or an LF does, on a server that is set to refuse those (`bare_newline = \"refuse\"`; by default an LF becomes CRLF). Servers differ in how they read these, and messages have been smuggled in by it.",
        "Let the program end each line with CRLF. In scripts, pipe the message through `unix2dos`.";
    IdempotencyConflict = 554 "5.6.0" "IDEMPOTENCY_CONFLICT this idempotency key was used for another request; use a new key", "end of data",
        "The idempotency key in the header was used for another message in the last 24 hours.",
        "Use a new key for each message.";
    InFlight = 451 "4.7.0" "CONFLICT a request with this idempotency key is under way; try again in 1 s", "end of data",
        "A message with this idempotency key is being accepted on another connection; it may be another message.",
        "Nothing: try again in a second.";
    KeyGone = 451 "4.7.0" "UNAUTHORIZED the API key has become invalid since the login", "MAIL, RCPT, end of data",
        "The API key was switched off, or expired, while the session was open.",
        "Log in with a valid key. A client with a queue keeps the message until then.";
    RateLimited = 452 "4.4.5" "RATE_LIMITED too many requests; try again in 2 s", "MAIL, RCPT, end of data",
        "The key or the account sends faster than it may.",
        "Nothing: a client with a queue tries again. Send more slowly, or ask for a higher limit.";
}
Envelope {
    BadSender = 501 "5.1.7" "BAD_REQUEST the sender: the address has no @", "MAIL",
        "The sender's address is not a valid address.",
        "Correct the sender's address in the program's settings, e.g. printer@example.com.";
    BadRecipient = 501 "5.1.3" "BAD_REQUEST the recipient: the address has no @", "RCPT",
        "The recipient's address is not a valid address.",
        "Correct the address. It needs a full domain: ada@example.com, not ada or ada@localhost.";
    Utf8NotAnnounced = 553 "5.6.7" "BAD_REQUEST the address is not ASCII, and MAIL did not say SMTPUTF8", "MAIL, RCPT",
        "The address has a letter beyond ASCII, and the program does not announce that.",
        "Use a program that knows SMTPUTF8; or an ASCII address, with the domain as xn--...";
    TooManyRecipients = 452 "4.5.3" "too many recipients; send the message again for the others", "RCPT",
        "The message has as many recipients as one message may have.",
        "Clients send the message again for the remaining recipients. Where one does not, send it in parts.";
    NoRecipients = 554 "5.5.1" "no recipient was accepted", "DATA, BDAT",
        "Each recipient of the message was refused.",
        "See the replies to RCPT.";
    TooLarge = 552 "5.3.4" "PAYLOAD_TOO_LARGE the message has more than 26214400 octets", "MAIL, BDAT, end of data",
        "The message is larger than the server takes. Attachments grow by a third in a message.",
        "Send a link in place of the attachment, or scan with fewer dots per inch; or the operator raises `message_bytes`.";
}
Outage {
    PluginOutage = 451 "4.3.5" "UNAVAILABLE a plugin failed", "MAIL, RCPT, end of data",
        "The plan policy or the renderer of the server failed, and without it no message goes out. Nothing was charged.",
        "Nothing: a client with a queue tries again. The operator finds the cause in the server's log.";
    StoreOutage = 451 "4.3.0" "UNAVAILABLE the message cannot be stored now", "MAIL, RCPT, end of data",
        "The server's database cannot be reached, or cannot be written. Nothing was charged.",
        "Nothing: a client with a queue tries again. The operator looks at the disk and the log.";
    Busy = 451 "4.3.2" "UNAVAILABLE too much at one time", "MAIL, RCPT, end of data",
        "The server has more to do than it can.",
        "Nothing: a client with a queue tries again.";
    ReadOnly = 451 "4.3.2" "UNAVAILABLE the server takes no messages and no changes for now: moving to a new disk", "MAIL, end of data",
        "The operator has switched the server to read-only mode; the text says why. Nothing was charged.",
        "Nothing: a client with a queue tries again.";
    Internal = 451 "4.3.0" "INTERNAL the template cannot be rendered", "end of data",
        "Something on the server is wrong, such as a published template.",
        "The author of the template or the operator reads the server's log. A client with a queue tries again.";
    MemoryFull = 452 "4.3.1" "UNAVAILABLE no memory for another large message now", "BDAT, end of data",
        "Many large messages are coming at once.",
        "Nothing: a client with a queue tries again.";
    Stopping = 421 "4.3.2" "UNAVAILABLE the server is shutting down", "any",
        "The server is being stopped or updated.",
        "Nothing: a client with a queue tries again.";
}
Session {
    Idle = 421 "4.4.2" "the session was silent, or slow, for too long", "any",
        "Nothing came from the program for minutes, or a message took longer than it may.",
        "Look at the network. A program that keeps connections open connects again by itself.";
    TooManyConnections = 421 "4.7.0" "too many connections", "on connecting",
        "This address, or all together, have as many connections open as the server allows. On the port with TLS from the first byte the connection is closed without a reply: a reply needs a handshake, which would cost the server more than the connection.",
        "Use fewer connections at a time, or close those that are idle; or the operator raises `connections_per_ip`. Where all clients come through one proxy, the operator names it in `smtp.trusted_proxies`.";
    TooManyErrors = 421 "4.7.0" "too many errors", "any",
        "The program made 20 errors in one session.",
        "See the replies before this one.";
    TooMuch = 421 "4.7.0" "the message goes on far beyond the size limit", "DATA",
        "The program kept on sending, 1 MiB beyond four times the allowed size.",
        "Send a smaller message. Programs that respect the SIZE that the server announces do not come here.";
    Distrust = 421 "4.7.0" "after line ends that servers read differently nothing more is taken", "end of data",
        "The message before it had a CR or an LF that stands alone, and what follows it may have been smuggled in. A message with LFs that was answered with 250 was taken; only what was sent behind it without waiting for the reply was not.",
        "Let the program end each line with CRLF, or wait for the reply to each message.";
    LineEndless = 421 "4.7.0" "a command line goes on and on", "any",
        "A command line has more than 64 KiB and no end.",
        "Look whether the program sends the message without DATA, or speaks another protocol.";
    LostTrack = 421 "4.7.0" "after this BDAT it is not known what is a command", "BDAT",
        "The size in the command could not be read, so the end of the chunk is unknown.",
        "Update the program, or switch its CHUNKING off.";
}
Protocol {
    UnknownCommand = 500 "5.5.1" "unknown command", "any",
        "The program sent something that is no SMTP command.",
        "Look whether it speaks another protocol, or TLS on the port for STARTTLS.";
    BadLine = 500 "5.5.2" "a command is UTF-8 text that ends in CRLF, without any other CR, LF or NUL", "any",
        "A command line ended in LF alone, or held a CR, a NUL or bytes that are not UTF-8.",
        "Let the program end each line with CRLF.";
    LineTooLong = 500 "5.5.6" "a command line has at most 2048 octets", "any",
        "A command line was too long.",
        "Look whether the program sends the message without DATA.";
    BadArgument = 501 "5.5.4" "the argument is not valid", "any",
        "An argument or a parameter is malformed, is there twice, or is there where none is allowed; the text says which.",
        "Update the program; or switch off the extension that the text names.";
    UnknownParameter = 555 "5.5.4" "the parameter NOTIFY is not known", "MAIL, RCPT",
        "The program uses an extension that the server does not offer, such as DSN.",
        "Switch delivery status notifications off in the program.";
    OutOfOrder = 503 "5.5.1" "send MAIL first", "any",
        "The command does not fit here; the text says which one is missing or why.",
        "See the reply before this one: mostly an earlier command was refused.";
    NotOffered = 502 "5.5.1" "not offered here", "EXPN",
        "The command exists and is not offered.",
        "Nothing.";
}
Report {
    NoReturnPath = 550 "5.1.1" "no such address here; only reports about this server's messages are taken", "RCPT",
        "The address is no return path that this server has made.",
        "Nothing: mail for people goes elsewhere. If it was a report, its address was changed on the way.";
    ReportAccepted = 250 "2.0.0" "Ok: taken", "end of data",
        "The outcome in the report is on disk.", "Nothing.";
}
Success {
    Greeting = 220 "" "mail.example.com ESMTP Waxwing", "on connecting",
        "The server is there.", "Nothing.";
    Hello = 250 "" "mail.example.com", "EHLO, HELO",
        "The extensions of the server, one a line.", "Nothing.";
    HandshakeReady = 220 "2.0.0" "ready to start TLS", "STARTTLS",
        "The TLS handshake follows.", "Nothing.";
    Challenge = 334 "" "VXNlcm5hbWU6", "AUTH",
        "The server requests the next part of the login: user name or password, in base64.", "Nothing.";
    LoggedIn = 235 "2.7.0" "logged in", "AUTH",
        "The API key is valid.", "Nothing.";
    SenderOk = 250 "2.1.0" "Ok", "MAIL",
        "The sender is noted.", "Nothing.";
    RecipientOk = 250 "2.1.5" "Ok", "RCPT",
        "The recipient is noted.", "Nothing.";
    StartData = 354 "" "end the message with <CR><LF>.<CR><LF>", "DATA",
        "The message may come.", "Nothing.";
    ChunkTaken = 250 "2.0.0" "1000 octets taken", "BDAT",
        "The chunk was taken; the message is not sent before its last one.", "Nothing.";
    Queued = 250 "2.0.0" "Ok: queued as msg_01JD0000000000000000000000 (and 2 more)", "end of data",
        "The message is on disk and will be delivered: one identifier for each recipient, of which the first is named. Where recipients are on the suppression list the reply mentions that: nothing is sent to those, and nothing is charged for them.",
        "Look the identifier up to see what became of the message.";
    Done = 250 "2.0.0" "Ok", "RSET, NOOP",
        "Done.", "Nothing.";
    Help = 214 "2.0.0" "see the README: Send through SMTP", "HELP",
        "The documentation is there.", "Nothing.";
    CannotVerify = 252 "2.1.5" "cannot verify, send the message and see", "VRFY",
        "The server does not say which addresses exist.", "Nothing.";
    Bye = 221 "2.0.0" "Bye", "QUIT",
        "The session is over.", "Nothing.";
}
}
