//! AUTH PLAIN and AUTH LOGIN.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::Session;
use crate::behaviour::{Demand, Login};
use crate::record::Speaker;
use crate::reply::{Reply, is_positive};
use crate::situation::Stage;
use crate::wire::Over;

impl Session {
    pub(super) async fn log_in(&mut self, argument: &str) -> Result<(), Over> {
        let Some(login) = self.behaviour.login.clone() else {
            return self.refuse(503, "5.5.1 AUTH is not offered").await;
        };
        if login.tls == Demand::Yes && !self.tls {
            return self.refuse(538, "5.7.11 only under TLS").await;
        }
        if self.user.is_some() {
            return self.refuse(503, "5.5.1 you have logged in").await;
        }
        let (mechanism, initial) = argument.split_once(' ').unwrap_or((argument, ""));
        let mechanism = mechanism.to_ascii_uppercase();
        if !login.mechanisms.split(' ').any(|it| it == mechanism) {
            return self.refuse(504, "5.5.4 no such mechanism").await;
        }
        let said = if mechanism == "LOGIN" {
            let user = self.challenged(initial, "VXNlcm5hbWU6").await?;
            let password = self.challenged("", "UGFzc3dvcmQ6").await?;
            decoded(&user).zip(decoded(&password))
        } else {
            let plain = self.challenged(initial, "").await?;
            decoded(&plain).and_then(|plain| {
                let mut parts = plain.split('\0').skip(1).map(str::to_owned);
                parts.next().zip(parts.next())
            })
        };
        let Some((user, password)) = said else {
            return self.refuse(501, "5.5.2 that cannot be read").await;
        };
        self.decide_login(&login, user, &password).await
    }

    async fn decide_login(
        &mut self,
        login: &Login,
        user: String,
        password: &str,
    ) -> Result<(), Over> {
        let usual = if login.user == user && login.password == password {
            Reply::new(235, "2.7.0 welcome")
        } else {
            Reply::new(535, "5.7.8 wrong user or password")
        };
        self.user = Some(user);
        if !is_positive(self.answer(Stage::Auth.into(), usual).await?) {
            self.user = None;
        }
        Ok(())
    }

    /// What the client gave at once, or its answer to a challenge.
    async fn challenged(&mut self, initial: &str, challenge: &str) -> Result<String, Over> {
        if !initial.is_empty() {
            return Ok(initial.to_owned());
        }
        self.refuse(334, challenge).await?;
        let (line, _) = self.wire.line().await?;
        self.note(Speaker::Client, &line);
        Ok(line)
    }
}

fn decoded(text: &str) -> Option<String> {
    // An empty initial response is written as an equals sign (RFC 4954 section 4).
    let text = if text == "=" { "" } else { text };
    String::from_utf8(STANDARD.decode(text).ok()?).ok()
}
