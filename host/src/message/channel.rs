//! Where a message comes from; a resend counts as `api`.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    /// Accepted over the HTTP API.
    Api,
    /// Accepted over SMTP by the relay.
    Smtp,
    /// Written by the server for the account. It may hold a secret of its recipient, so nobody else gets to see it.
    Server,
}

impl Channel {
    /// The word in the database and in answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Api => "api",
            Self::Smtp => "smtp",
            Self::Server => "server",
        }
    }

    #[must_use]
    pub fn from_name(word: &str) -> Option<Self> {
        [Self::Api, Self::Smtp, Self::Server].into_iter().find(|it| it.as_str() == word)
    }
}
