//! How pages look, which a browser keeps in a cookie.

tokio::task_local! {
    static OF_REQUEST: Theme;
}

/// How pages look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Theme {
    /// As the browser says.
    System,
    Light,
    Dark,
}

impl Theme {
    /// The theme that its cookie names; for any other value that of the browser.
    pub fn of_cookie(value: Option<&str>) -> Self {
        match value {
            Some("light") => Self::Light,
            Some("dark") => Self::Dark,
            Some(_) | None => Self::System,
        }
    }

    /// For the layout's `data-theme`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }

    /// Makes an answer to a request with this theme.
    pub async fn within<R>(self, answer: impl Future<Output = R>) -> R {
        OF_REQUEST.scope(self, answer).await
    }

    /// The theme of the request that this task answers.
    pub fn current() -> Self {
        OF_REQUEST.try_with(|it| *it).unwrap_or(Self::System)
    }
}
