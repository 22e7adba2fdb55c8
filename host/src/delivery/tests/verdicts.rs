//! What each refusal at each stage makes of a message and of its address.

use waxwing_mx::{Behaviour, MxServer, Stage};

use super::fixture::{Fixture, HOUR, NOW, Setup, smarthost};
use crate::store::SuppressionRow;

/// What becomes of the address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Address {
    Dead,
    Alive,
}

/// Stage, code and words, and what they come to.
const REFUSALS: [(Stage, u16, &str, &str, Address); 26] = [
    (Stage::Rcpt, 550, "5.1.1 no such user", "bounced", Address::Dead),
    (Stage::Rcpt, 550, "5.1.2 no such system", "bounced", Address::Dead),
    (Stage::Rcpt, 550, "5.1.6 has moved", "bounced", Address::Dead),
    (Stage::Rcpt, 550, "5.1.10 takes no mail", "bounced", Address::Dead),
    (Stage::Rcpt, 550, "5.2.1 mailbox disabled", "bounced", Address::Dead),
    (Stage::Rcpt, 550, "User unknown", "bounced", Address::Dead),
    (Stage::Rcpt, 550, "5.7.1 blocked", "bounced", Address::Alive),
    (Stage::Rcpt, 550, "5.7.606 banned sending IP", "bounced", Address::Alive),
    (Stage::Rcpt, 552, "5.2.2 mailbox full", "bounced", Address::Alive),
    (Stage::Rcpt, 450, "4.2.1 try later", "deferred", Address::Alive),
    (Stage::Rcpt, 451, "4.7.1 greylisted", "deferred", Address::Alive),
    (Stage::Rcpt, 452, "4.5.3 too many recipients", "deferred", Address::Alive),
    // The reply's code counts where the two contradict each other.
    (Stage::Rcpt, 450, "5.1.1 no such user", "deferred", Address::Alive),
    (Stage::Mail, 550, "5.7.1 not from you", "bounced", Address::Alive),
    (Stage::Mail, 553, "5.1.8 no such sender domain", "bounced", Address::Alive),
    (Stage::Mail, 451, "4.7.1 not now", "deferred", Address::Alive),
    (Stage::Mail, 530, "5.7.0 log in first", "deferred", Address::Alive),
    (Stage::Data, 554, "5.6.0 no", "bounced", Address::Alive),
    (Stage::Data, 451, "4.3.0 not now", "deferred", Address::Alive),
    (Stage::EndOfData, 554, "5.7.1 this is spam", "bounced", Address::Alive),
    (Stage::EndOfData, 550, "5.1.1 no such user", "bounced", Address::Dead),
    (Stage::EndOfData, 552, "5.3.4 too large", "bounced", Address::Alive),
    (Stage::EndOfData, 452, "4.3.1 disk full", "deferred", Address::Alive),
    (Stage::EndOfData, 451, "4.7.1 later", "deferred", Address::Alive),
    // About us, and not about any message.
    (Stage::Connect, 554, "5.3.2 no service for you", "deferred", Address::Alive),
    (Stage::Connect, 450, "4.3.2 busy", "deferred", Address::Alive),
];

#[tokio::test]
async fn each_refusal_at_each_stage_has_its_meaning() {
    let server = MxServer::start(Behaviour::new());
    let fixture = Fixture::new(Setup::smarthosts(&[smarthost("relay", &server)])).await;
    for (number, (stage, code, text, state, address)) in REFUSALS.into_iter().enumerate() {
        // Each in its own hour, so that no rest of the one before is left.
        fixture.set_clock(NOW.after(HOUR * u32::try_from(number).expect("small")));
        if stage == Stage::Connect {
            server.cut_connections();
        }
        server.set(Behaviour::new().reject(stage, code, text));
        let to = format!("n{number}@example.com");
        let id = fixture.send(&to).await;
        let details = fixture.after_attempts(id, 1).await;
        let what = format!("{stage:?} {code} {text}: {}", details.row.reason);
        assert_eq!(details.row.state.as_str(), state, "{what}");
        let attempt = &details.attempts[0];
        assert_eq!(attempt.code, Some(code), "{what}");
        assert!(attempt.reply.contains(text), "{what}");
        // One that contradicts the reply's code says nothing.
        let class = code.to_string();
        let enhanced = text.split(' ').next();
        let enhanced = enhanced.filter(|it| it.contains('.') && it.get(..1) == class.get(..1));
        assert_eq!(attempt.enhanced.as_deref(), enhanced, "{what}");
        assert!(attempt.conversation.contains(text), "{what}: {}", attempt.conversation);
        let suppressed = suppression(&fixture, &to).await.is_some();
        assert_eq!(suppressed, address == Address::Dead, "{what}");
        // What was put off is taken in the end.
        server.set(Behaviour::new());
        if state == "deferred" {
            assert_eq!(
                fixture.run_next_attempt(id).await.1.row.state.as_str(),
                "relayed",
                "{what}"
            );
        }
        assert_eq!(
            fixture.message(id).await.row.refunded.0,
            0,
            "it left, or a server has decided it"
        );
    }
    fixture.finish().await;
}

#[tokio::test]
async fn a_dead_address_is_suppressed_with_the_message_that_found_out() {
    let server = MxServer::start(Behaviour::new().reject(Stage::Rcpt, 550, "5.1.1 no such user"));
    let fixture = Fixture::new(Setup::smarthosts(&[smarthost("relay", &server)])).await;
    let id = fixture.send("Ada@Example.com").await;
    fixture.until_state(id, "bounced").await;
    let row = suppression(&fixture, "ada@example.com").await.expect("it is on the list");
    assert_eq!((row.kind.as_str(), row.message_id), ("bounce", Some(id)));
    assert!(row.reason.contains("no such user"), "{row:?}");
    fixture.finish().await;
}

#[tokio::test]
async fn a_second_refusal_without_a_reason_suppresses_and_a_single_one_does_not() {
    let server = MxServer::start(Behaviour::new().reject(Stage::Rcpt, 550, "no"));
    let fixture = Fixture::new(Setup::smarthosts(&[smarthost("relay", &server)])).await;
    let refused = async |after: std::time::Duration| {
        fixture.set_clock(NOW.after(after));
        let id = fixture.send("ada@example.com").await;
        fixture.until_state(id, "bounced").await;
        suppression(&fixture, "ada@example.com").await.is_some()
    };
    assert!(!refused(HOUR).await);
    assert!(!refused(HOUR + HOUR / 2).await, "within one disturbance");
    assert!(refused(HOUR * 3).await);
    fixture.finish().await;
}

/// The suppression of an address, if it is on the list.
pub async fn suppression(fixture: &Fixture, address: &str) -> Option<SuppressionRow> {
    let now = fixture.clock.now();
    fixture.store.suppression(fixture.account, address, now).await.expect("readable")
}
