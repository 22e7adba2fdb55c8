//! How a log-in that was refused is answered: with which status, and when to try again.

use axum::response::Response;
use http::header::RETRY_AFTER;
use http::{HeaderValue, StatusCode};

use super::response::Failure;
use crate::people::{LogInError, PasswordError};

/// With which status the form is shown again.
pub fn status(error: &LogInError) -> Result<StatusCode, Failure> {
    Ok(match error {
        LogInError::Wrong | LogInError::WrongCode | LogInError::Over => {
            StatusCode::UNPROCESSABLE_ENTITY
        }
        LogInError::TooMany(_) => StatusCode::TOO_MANY_REQUESTS,
        LogInError::Password(error) => status_of_password(*error),
        LogInError::Store(_) => {
            return Err(Failure::Unavailable(
                "The store cannot be read now. Try again.".to_owned(),
            ));
        }
    })
}

/// With which status a form is shown again whose password was refused.
pub fn status_of_password(error: PasswordError) -> StatusCode {
    match error {
        PasswordError::TooShort | PasswordError::TooLong | PasswordError::Blank => {
            StatusCode::UNPROCESSABLE_ENTITY
        }
        PasswordError::TooManyHere => StatusCode::TOO_MANY_REQUESTS,
        PasswordError::Busy => StatusCode::SERVICE_UNAVAILABLE,
    }
}

/// Says when to try again, where time mends the refusal.
pub fn with_retry_after(mut response: Response, error: &LogInError) -> Response {
    let seconds = match error {
        LogInError::TooMany(seconds) => *seconds,
        LogInError::Password(PasswordError::TooManyHere | PasswordError::Busy) => 1,
        LogInError::Password(
            PasswordError::TooShort | PasswordError::TooLong | PasswordError::Blank,
        )
        | LogInError::Wrong
        | LogInError::WrongCode
        | LogInError::Over
        | LogInError::Store(_) => return response,
    };
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    response
}
