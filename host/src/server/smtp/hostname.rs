//! What the relay calls itself.

use crate::config::{Hostname, Smtp};

/// The configured name, else the machine's own, else `localhost`.
#[must_use]
pub fn hostname(smtp: &Smtp) -> Hostname {
    smtp.hostname.clone().or_else(machine).unwrap_or_else(Hostname::localhost)
}

/// None where the machine has a name that no mail server may say.
fn machine() -> Option<Hostname> {
    rustix::system::uname().nodename().to_str().ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configured_name_is_the_name() {
        let name: Hostname = "mail.example.com".parse().expect("a name");
        let smtp = Smtp { hostname: Some(name.clone()), ..Smtp::default() };
        assert_eq!(hostname(&smtp), name);
        assert!(!hostname(&Smtp::default()).as_str().is_empty());
    }
}
