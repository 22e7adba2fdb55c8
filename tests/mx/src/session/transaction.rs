//! MAIL, RCPT, DATA and what comes behind it.

use std::mem;

use super::data::Unstuffed;
use super::path::{path, unknown, value};
use super::{Place, Session};
use crate::behaviour::{Demand, Farewell, Keeps};
use crate::record::{Moment, Speaker};
use crate::reply::{Reply, Says, is_positive};
use crate::situation::{Received, Recipient, Stage};
use crate::wire::Over;

impl Session {
    pub(super) async fn mail(&mut self, argument: &str) -> Result<(), Over> {
        if self.helo.is_none() || self.sender.is_some() {
            return self.refuse(503, "5.5.1 MAIL is not due").await;
        }
        let Some(sender) = path(argument, "FROM:") else {
            return self.refuse(501, "5.5.4 MAIL FROM:<address>").await;
        };
        let usual = self.about_sender(&sender);
        self.sender = Some(sender);
        if !is_positive(self.answer(Stage::Mail.into(), usual).await?) {
            self.reset();
        }
        Ok(())
    }

    fn about_sender(&self, sender: &Recipient) -> Reply {
        let behaviour = &self.behaviour;
        let size = value(sender, "SIZE").and_then(|it| it.parse::<usize>().ok());
        let over = behaviour.end_of_connection.filter(|(messages, farewell)| {
            self.taken >= *messages && *farewell == Farewell::Says421
        });
        if over.is_some() {
            Reply::new(421, "4.7.0 enough messages on this connection")
        } else if behaviour.tls_demanded == Demand::Yes && !self.tls {
            Reply::new(530, "5.7.0 STARTTLS first")
        } else if behaviour.login.is_some() && self.user.is_none() {
            Reply::new(530, "5.7.0 log in first")
        } else if let Some(parameter) = unknown(sender, behaviour) {
            Reply::new(555, &format!("5.5.4 {parameter} is not offered"))
        } else if !sender.address.is_ascii() && value(sender, "SMTPUTF8").is_none() {
            Reply::new(553, "5.6.7 not without SMTPUTF8")
        } else if behaviour.size.zip(size).is_some_and(|(most, size)| size > most) {
            Reply::new(552, "5.3.4 too large")
        } else {
            Reply::new(250, "2.1.0 sender ok")
        }
    }

    pub(super) async fn rcpt(&mut self, argument: &str) -> Result<(), Over> {
        let Some(sender) = &self.sender else {
            return self.refuse(503, "5.5.1 MAIL first").await;
        };
        let Some(recipient) = path(argument, "TO:") else {
            return self.refuse(501, "5.5.4 RCPT TO:<address>").await;
        };
        let usual = if let Some(parameter) = unknown(&recipient, &self.behaviour) {
            Reply::new(555, &format!("5.5.4 {parameter} is not offered"))
        } else if !recipient.address.is_ascii() && value(sender, "SMTPUTF8").is_none() {
            Reply::new(553, "5.6.7 not without SMTPUTF8")
        } else {
            Reply::new(250, "2.1.5 recipient ok")
        };
        let seen = match self.behaviour.keeps {
            Keeps::Everything => self.shared.see(&recipient.address),
            Keeps::Counts => 0,
        };
        let place = Place { stage: Stage::Rcpt, recipient: Some(&recipient.address), seen };
        if is_positive(self.answer(place, usual).await?) {
            self.recipients.push(recipient);
        }
        Ok(())
    }

    pub(super) async fn data(&mut self) -> Result<(), Over> {
        let usual = if self.sender.is_none() {
            Reply::new(503, "5.5.1 MAIL first")
        } else if self.recipients.is_empty() {
            Reply::new(554, "5.5.1 no valid recipients")
        } else {
            Reply::new(354, "go ahead")
        };
        if self.answer(Stage::Data.into(), usual).await? != Some(354) {
            return Ok(());
        }
        let data = self.receive().await?;
        self.settle(data).await?;
        self.reset();
        let over = self.behaviour.end_of_connection;
        if over.is_some_and(|(most, farewell)| self.taken >= most && farewell == Farewell::Closes) {
            self.open = None;
            return Err(self.wire.close().await);
        }
        Ok(())
    }

    async fn receive(&mut self) -> Result<Unstuffed, Over> {
        let place = Stage::Data.into();
        let cut = self.behaviour.cut_after(&self.situation(&place));
        let mut data = Unstuffed::new(self.behaviour.keeps);
        let mut before = 0;
        loop {
            let came = data.octets() + self.wire.rest().len();
            let reached = |it| matches!(it, Moment::Octets(at) if before < at && at <= came);
            self.shared.call(reached, &self.situation(&place));
            before = came;
            if cut.is_some_and(|cut| came >= cut) {
                self.note(Speaker::Event, &format!("cut after {came} octets of data"));
                self.wire.flush().await?;
                return Err(Over);
            }
            let used = data.take(self.wire.rest());
            self.wire.consume(used);
            if data.is_ended() {
                return Ok(data);
            }
            self.wire.fill().await?;
        }
    }

    /// Answers to a message. It is kept before the answer can be read.
    async fn settle(&mut self, data: Unstuffed) -> Result<(), Over> {
        let place = Stage::EndOfData.into();
        let octets = data.content_octets();
        for violation in data.violations(self.sender.as_ref()) {
            self.shared.violation(self.number, violation);
        }
        let usual = if self.behaviour.size.is_some_and(|most| octets > most) {
            Reply::new(552, "5.3.4 too large")
        } else {
            Reply::ok()
        };
        let reply = self.decide(&place, usual).await?;
        self.transactions += 1;
        let no_word = reply.says == Says::Nothing;
        if is_positive(reply.code()) || no_word {
            let sender = self.sender.take();
            let (sender, parameters) =
                sender.map(|it| (it.address, it.parameters)).unwrap_or_default();
            let message = Received {
                sender,
                parameters,
                recipients: mem::take(&mut self.recipients),
                data: data.content(),
                connection: self.number,
                tls: self.tls,
                server_name: self.server_name.clone(),
                user: self.user.clone(),
                helo: self.helo.clone().unwrap_or_default(),
                reply: reply.code(),
            };
            self.taken += 1;
            self.shared.take(self.behaviour.keeps, message, octets);
        }
        self.say(&place, &reply).await
    }
}
