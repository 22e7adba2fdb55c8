//! Where in a dialog a server stands.

/// A place in the dialog at which the server answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stage {
    /// The greeting is due.
    Connect,
    /// EHLO came.
    Ehlo,
    /// HELO came.
    Helo,
    /// STARTTLS came.
    StartTls,
    /// User name and password came.
    Auth,
    /// MAIL came.
    Mail,
    /// RCPT came.
    Rcpt,
    /// DATA came.
    Data,
    /// The final dot came.
    EndOfData,
    /// RSET came.
    Rset,
    /// NOOP came.
    Noop,
    /// QUIT came.
    Quit,
}

/// What a behaviour may decide by.
#[derive(Debug, Clone, Copy)]
pub struct Situation<'a> {
    /// Where in the dialog.
    pub stage: Stage,
    /// Which connection, from 1, over the life of the server.
    pub connection: usize,
    /// How many messages were ended on this connection before, whatever became of them.
    pub transactions: usize,
    /// The envelope's sender, from MAIL on; empty for the empty path.
    pub sender: Option<&'a str>,
    /// The recipient of this RCPT.
    pub recipient: Option<&'a str>,
    /// The recipients that were taken so far.
    pub recipients: &'a [Recipient],
    /// How often this recipient came before, over the life of the server; 0 elsewhere and in a sink.
    pub seen: usize,
    /// Whether it is spoken under TLS.
    pub tls: bool,
    /// Who has logged in.
    pub user: Option<&'a str>,
}

/// A recipient that was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipient {
    /// Without angle brackets.
    pub address: String,
    /// As in `NOTIFY=NEVER`.
    pub parameters: Vec<String>,
}

/// A message whose final dot came, unless it was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// The envelope's sender; empty for the empty path.
    pub sender: String,
    /// The parameters of MAIL, as in `SIZE=1000`.
    pub parameters: Vec<String>,
    /// Whom it is for.
    pub recipients: Vec<Recipient>,
    /// The message as it was before it was dot-stuffed. Nothing in a sink.
    pub data: Vec<u8>,
    /// On which connection, from 1.
    pub connection: usize,
    /// Whether it came under TLS.
    pub tls: bool,
    /// The name that the client asked for in its handshake (SNI).
    pub server_name: Option<String>,
    /// Who had logged in.
    pub user: Option<String>,
    /// The name of EHLO or HELO.
    pub helo: String,
    /// The code that was answered; none where the connection was cut, or nothing said.
    pub reply: Option<u16>,
}

impl Received {
    /// The first value of a header field, unfolded.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<String> {
        let text = String::from_utf8_lossy(&self.data);
        let head = text.split("\r\n\r\n").next().unwrap_or_default();
        let unfolded = head.replace("\r\n ", " ").replace("\r\n\t", " ");
        unfolded.split("\r\n").find_map(|line| {
            let (field, value) = line.split_once(':')?;
            field.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        })
    }

    /// The addresses of its recipients.
    #[must_use]
    pub fn addresses(&self) -> Vec<&str> {
        self.recipients.iter().map(|it| it.address.as_str()).collect()
    }
}
