//! The clock, compared with that of a time server (SNTP, RFC 4330).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use tokio::net::UdpSocket;
use tokio::time::timeout;

use super::finding::Verdict;
use super::names::addresses_of;
use super::words::span;
use super::world::World;
use crate::clock::{Clock, Timestamp};
use crate::dns::Resolver;
use crate::id::fill_random;

/// For one answer of a time server.
const ANSWER_TIME: Duration = Duration::from_secs(3);
const CLOCK_OFF: Duration = Duration::from_secs(2);
/// Second factors change every 30 s.
const CLOCK_WRONG: Duration = Duration::from_secs(30);
/// Seconds from 1900, when the time of NTP begins, to 1970.
const NTP_TO_UNIX_SECONDS: i64 = 2_208_988_800;
const PACKET: usize = 48;
/// Version 4, mode 3 (client).
const CLIENT: u8 = 0x23;
const SERVER_MODE: u8 = 4;

/// Why the time of a server is not known.
#[derive(Debug, thiserror::Error)]
enum NoTime {
    #[error("{0}")]
    Unseen(&'static str),
    #[error("it has no address")]
    NoAddress,
    #[error("it cannot be reached: {0}")]
    Io(#[from] std::io::Error),
    #[error("it does not answer in time")]
    Silent,
    #[error("it answers what is no time")]
    Malformed,
}

/// Compares the clock with that of the time server that the configuration names.
pub async fn clock(world: &World) -> Verdict {
    let settings = world.reloadable.load_full();
    let Some((host, port)) = &settings.time_server else {
        return Verdict::not_checked(
            "No time server is named to compare the clock with: set [health] time_server, and reload the server.",
        );
    };
    match offset(&world.resolver, &world.clock, (host, *port)).await {
        Ok(offset) => clock_verdict(offset, host),
        Err(error) => Verdict::not_checked(format!("The time of {host} is not known: {error}.")),
    }
}

/// Milliseconds that the clock is behind; negative where it is ahead.
async fn offset(
    resolver: &Resolver,
    clock: &Clock,
    (host, port): (&str, u16),
) -> Result<i64, NoTime> {
    let address = SocketAddr::new(address(resolver, host).await?, port);
    let unspecified: IpAddr = match address {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((unspecified, 0)).await?;
    socket.connect(address).await?;
    // The server gives the time of the question back: an answer to no question of ours is not looked at.
    let mut question = [0; PACKET];
    question[0] = CLIENT;
    fill_random(&mut question[40..]);
    let asked = clock.now();
    socket.send(&question).await?;
    let mut answer = [0; PACKET];
    let received = timeout(ANSWER_TIME, socket.recv(&mut answer)).await;
    let length = received.map_err(|_| NoTime::Silent)??;
    let answered = clock.now();
    let theirs = if length == PACKET { time_of(&question, &answer) } else { None };
    let theirs = theirs.ok_or(NoTime::Malformed)?.millis();
    // Half of the way there and back is between the question and their time.
    Ok(theirs - i64::midpoint(asked.millis(), answered.millis()))
}

async fn address(resolver: &Resolver, host: &str) -> Result<IpAddr, NoTime> {
    if let Ok(address) = host.parse() {
        return Ok(address);
    }
    let found = addresses_of(resolver, host).await.map_err(NoTime::Unseen)?;
    found.into_iter().next().ok_or(NoTime::NoAddress)
}

/// The transmit time of an answer; none where it is no answer to the question, or its server has no time itself.
fn time_of(question: &[u8; PACKET], answer: &[u8; PACKET]) -> Option<Timestamp> {
    let is_answer = answer[0] & 0x07 == SERVER_MODE && answer[24..32] == question[40..];
    let is_unsynchronised = answer[0] >> 6 == 3 || answer[1] == 0;
    if !is_answer || is_unsynchronised {
        return None;
    }
    let number = |bytes: &[u8]| bytes.iter().fold(0_i64, |sum, byte| sum << 8 | i64::from(*byte));
    let (seconds, fraction) = (number(&answer[40..44]), number(&answer[44..]));
    // The first era ends in 2036; what lies before 1970 is of the second.
    let seconds = seconds - NTP_TO_UNIX_SECONDS;
    let seconds = if seconds < 0 { seconds + (1 << 32) } else { seconds };
    Some(Timestamp::from_millis(seconds * 1_000 + ((fraction * 1_000) >> 32)))
}

fn clock_verdict(offset: i64, host: &str) -> Verdict {
    let away = Duration::from_millis(offset.unsigned_abs());
    if away < CLOCK_OFF {
        return Verdict::ok(format!("It agrees with {host}."));
    }
    let side = if offset > 0 { "behind" } else { "ahead of" };
    let seen = format!("It is {} {side} {host}.", span(away));
    let todo = "Let the system keep the time: systemd-timesyncd, chrony or ntpd must run and reach its servers.";
    if away < CLOCK_WRONG { Verdict::warning(seen, todo) } else { Verdict::failing(seen, todo) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::health::finding::State;

    /// 2027-01-15T08:00:00.500Z
    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_500);

    /// The answer of a server whose clock shows that time.
    fn answer(question: &[u8; PACKET], time: Timestamp) -> [u8; PACKET] {
        let mut answer = [0; PACKET];
        (answer[0], answer[1]) = (0x24, 2);
        answer[24..32].copy_from_slice(&question[40..]);
        let seconds = u32::try_from(time.millis() / 1_000 + NTP_TO_UNIX_SECONDS).expect("era 0");
        answer[40..44].copy_from_slice(&seconds.to_be_bytes());
        let fraction = u32::try_from(((time.millis() % 1_000) << 32) / 1_000).expect("below one");
        answer[44..].copy_from_slice(&fraction.to_be_bytes());
        answer
    }

    #[tokio::test]
    async fn a_clock_is_compared_with_that_of_a_time_server() {
        let server = UdpSocket::bind("127.0.0.1:0").await.expect("a port");
        let port = server.local_addr().expect("bound").port();
        let clock = Clock::manual(NOW);
        let dns = waxwing_dns::DnsServer::start().await;
        dns.ip("time.example", Ipv4Addr::LOCALHOST.into());
        let resolver = crate::health::tests::resolver(&dns);
        let ask = offset(&resolver, &clock, ("time.example", port));
        let serve = async {
            let mut question = [0; PACKET];
            let (_, from) = server.recv_from(&mut question).await.expect("a question");
            let ahead = NOW.after(Duration::from_mins(2));
            server.send_to(&answer(&question, ahead), from).await.expect("sent");
        };
        let (found, ()) = tokio::join!(ask, serve);
        let found = found.expect("an answer");
        assert!((119_999..=120_000).contains(&found), "{found}");
        let verdict = clock_verdict(found, "time.example");
        assert_eq!(verdict.state, State::Failing);
        assert!(verdict.what.contains("behind time.example"), "{verdict:?}");
        assert_eq!(clock_verdict(-5_000, "t").state, State::Warning);
        assert_eq!(clock_verdict(-50, "t").state, State::Ok);
    }

    #[test]
    fn what_answers_no_question_of_ours_is_no_time() {
        let mut question = [0; PACKET];
        question[40..].fill(7);
        let good = answer(&question, NOW);
        let time = time_of(&question, &good).expect("a time").millis();
        assert!((NOW.millis() - 1..=NOW.millis()).contains(&time), "{time}");
        let mut another = good;
        another[24] = 8;
        assert_eq!(time_of(&question, &another), None, "not our question");
        let (mut kiss, mut lost) = (good, good);
        (kiss[1], lost[0]) = (0, 0xe4);
        assert_eq!(time_of(&question, &kiss), None, "a kiss-o'-death packet");
        assert_eq!(time_of(&question, &lost), None, "it has no time itself");
    }
}
