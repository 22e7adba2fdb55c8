//! Passwords: argon2id, off the threads that serve requests, and a bounded number at one time.

use std::sync::Arc;
use std::time::Duration;

use argon2::{Algorithm, Argon2, Params, PasswordHasher, PasswordVerifier, Version};
use tokio::sync::Semaphore;

use crate::id::fill_random;

const MEMORY_KIB: u32 = 19 * 1_024;
const PASSES: u32 = 2;
const LANES: u32 = 1;
const SALT_BYTES: usize = 16;
/// Each takes 19 MiB and a core for some 60 ms.
const MAX_PARALLEL_HASHES: usize = 2;
/// For a place among them.
const HASH_WAIT: Duration = Duration::from_secs(10);
const MIN_PASSWORD_CHARS: usize = 12;
const MAX_PASSWORD_BYTES: usize = 256;
/// What is compared where there is no such person, so that an address tells nothing by the time that it takes: of a
/// password that nobody has.
const NOBODY: &str = "$argon2id$v=19$m=19456,t=2,p=1$d2F4d2luZyBub2JvZHkhIQ\
                      $9rU0lTNXlq8kYVz3a5m0mJ0nN3m1m3v1m4h2m0Jx0aY";

#[derive(Debug, Clone)]
pub struct Passwords(Arc<Semaphore>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PasswordError {
    #[error("a password has at least {MIN_PASSWORD_CHARS} characters")]
    TooShort,
    #[error("a password has at most {MAX_PASSWORD_BYTES} bytes")]
    TooLong,
    #[error("too many people log in at this moment; try again in some seconds")]
    Busy,
}

impl Default for Passwords {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MAX_PARALLEL_HASHES)))
    }
}

impl Passwords {
    /// Whether somebody may choose it.
    pub fn check(password: &str) -> Result<(), PasswordError> {
        if password.chars().count() < MIN_PASSWORD_CHARS {
            return Err(PasswordError::TooShort);
        }
        if password.len() > MAX_PASSWORD_BYTES {
            return Err(PasswordError::TooLong);
        }
        Ok(())
    }

    /// The hash to keep, as a PHC string.
    ///
    /// # Panics
    /// argon2 refuses a password of an allowed length; it never does.
    pub async fn hash(&self, password: &str) -> Result<String, PasswordError> {
        Self::check(password)?;
        let password = password.to_owned();
        self.off_the_workers(move || {
            let mut salt = [0; SALT_BYTES];
            fill_random(&mut salt);
            let hash = argon2().hash_password_with_salt(password.as_bytes(), &salt);
            hash.expect("a password of that length is hashed").to_string()
        })
        .await
    }

    /// Whether the password is the one of that hash. None is nobody's, and takes as long.
    pub async fn is_right(
        &self,
        password: &str,
        hash: Option<&str>,
    ) -> Result<bool, PasswordError> {
        if password.len() > MAX_PASSWORD_BYTES {
            return Ok(false);
        }
        let (password, is_somebody) = (password.to_owned(), hash.is_some());
        let hash = hash.unwrap_or(NOBODY).to_owned();
        self.off_the_workers(move || {
            argon2().verify_password(password.as_bytes(), hash.as_str()).is_ok() && is_somebody
        })
        .await
    }

    async fn off_the_workers<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, PasswordError> {
        let place = tokio::time::timeout(HASH_WAIT, Arc::clone(&self.0).acquire_owned()).await;
        let place = place.ok().and_then(Result::ok).ok_or(PasswordError::Busy)?;
        // Where the client hangs up, the work goes on, and so must its place.
        let work = move || {
            let _place = place;
            work()
        };
        tokio::task::spawn_blocking(work).await.map_err(|_| PasswordError::Busy)
    }
}

fn argon2() -> Argon2<'static> {
    let params = Params::new(MEMORY_KIB, PASSES, LANES, None).expect("the parameters are valid");
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_password_is_kept_as_argon2id_and_known_again() {
        let passwords = Passwords::default();
        let hash = passwords.hash("correct horse battery").await.expect("hashed");
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
        assert_eq!(passwords.is_right("correct horse battery", Some(&hash)).await, Ok(true));
        assert_eq!(passwords.is_right("correct horse batterz", Some(&hash)).await, Ok(false));
        assert_eq!(passwords.is_right("correct horse battery", None).await, Ok(false));
        assert_eq!(passwords.hash("short").await, Err(PasswordError::TooShort));
        assert_eq!(passwords.hash(&"x".repeat(257)).await, Err(PasswordError::TooLong));
    }

    /// A hash that does not parse would be refused at once, and tell that there is nobody.
    #[test]
    fn nobodys_hash_is_computed_like_all_others() {
        let hash = argon2::PasswordHash::new(NOBODY).expect("a PHC string");
        let params = Params::try_from(&hash).expect("parameters");
        assert_eq!(
            (params.m_cost(), params.t_cost(), params.p_cost()),
            (MEMORY_KIB, PASSES, LANES)
        );
        assert_eq!(hash.hash.map(|it| it.len()), Some(32));
    }
}
