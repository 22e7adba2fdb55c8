//! One question to one name server: UDP, and TCP where the answer does not fit.

use std::net::SocketAddr;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::{Either, select};
use hickory_resolver::net::NetError;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::net::tcp::TcpClientStream;
use hickory_resolver::net::udp::UdpClientStream;
use hickory_resolver::net::xfer::{
    DnsMultiplexer, DnsRequestSender, DnsResponseStream, FirstAnswer,
};
use hickory_resolver::proto::op::{DnsRequest, DnsRequestOptions, DnsResponse};
use hickory_resolver::proto::op::{Message, Query, ResponseCode};
use hickory_resolver::proto::rr::{Record, RecordType as Wire};
use tokio::time::timeout;

use super::observation::Outcome;

/// The largest datagram that passes everywhere (DNS flag day 2020).
const EDNS_PAYLOAD: u16 = 1232;

/// Why a server's reply is none, from the least to the most telling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Failure {
    TimedOut,
    Refused,
    ServFail,
}

impl From<Failure> for Outcome {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::TimedOut => Self::TimedOut,
            Failure::Refused => Self::Refused,
            Failure::ServFail => Self::ServFail,
        }
    }
}

/// A datagram's reply.
#[derive(Debug)]
pub(super) enum Datagram {
    Whole(Message),
    /// It says itself that it is not the whole answer.
    Cut,
}

/// Asks over UDP, once: every try is paced and counted by who asks.
pub(super) async fn over_udp(
    server: SocketAddr,
    query: &Query,
    patience: Duration,
) -> Result<Datagram, Failure> {
    let mut stream = UdpClientStream::builder(server, TokioRuntimeProvider::new())
        .with_timeout(Some(patience))
        .with_max_retries(1)
        .build();
    let reply = stream.send_message(request(query)).first_answer().await;
    let reply = reply.map_err(|error| failure(&error))?.into_message();
    if reply.metadata.truncation {
        return Ok(Datagram::Cut);
    }
    usable(reply, query).map(Datagram::Whole)
}

/// Asks over TCP, on a connection of its own.
pub(super) async fn over_tcp(
    server: SocketAddr,
    query: &Query,
    patience: Duration,
) -> Result<Message, Failure> {
    let exchange = async {
        let provider = TokioRuntimeProvider::new();
        let (connecting, sender) = TcpClientStream::new(server, None, Some(patience), provider);
        let mut connection = DnsMultiplexer::new(connecting.await?, sender).with_timeout(patience);
        let reply = connection.send_message(request(query));
        driven(connection, reply).await
    };
    let reply = timeout(patience, exchange).await.map_err(|_| Failure::TimedOut)?;
    let reply = reply.map_err(|error| failure(&error))?.into_message();
    if reply.metadata.truncation { Err(Failure::ServFail) } else { usable(reply, query) }
}

/// Reads and writes while the reply is awaited: no task outlives the question.
async fn driven(
    mut connection: impl DnsRequestSender,
    reply: DnsResponseStream,
) -> Result<DnsResponse, NetError> {
    match select(reply.first_answer(), connection.next()).await {
        Either::Left((reply, _)) => reply,
        // Closed; the reply knows why.
        Either::Right((_, reply)) => reply.await,
    }
}

fn request(query: &Query) -> DnsRequest {
    let mut options = DnsRequestOptions::default();
    options.edns_payload_len = EDNS_PAYLOAD;
    let mut request = DnsRequest::from_query(query.clone(), options);
    // "Tell me whether it was validated" (RFC 6840 section 5.7), without its signatures.
    request.metadata.authentic_data = true;
    request
}

/// What cannot be parsed is a server's answer; all else came too late, or there is no way there.
fn failure(error: &NetError) -> Failure {
    if let NetError::Proto(_) = error { Failure::ServFail } else { Failure::TimedOut }
}

/// A reply that states a fact of the name.
fn usable(reply: Message, query: &Query) -> Result<Message, Failure> {
    if reply.queries.as_slice() != [query.clone()] {
        return Err(Failure::ServFail);
    }
    let code = reply.metadata.response_code;
    if code == ResponseCode::Refused {
        Err(Failure::Refused)
    } else if is_referral(&reply)
        || ![ResponseCode::NoError, ResponseCode::NXDomain].contains(&code)
    {
        Err(Failure::ServFail)
    } else {
        Ok(reply)
    }
}

/// A referral: sent by a server that is no resolver, and no statement that there is no data
/// (RFC 2308 section 2.2).
fn is_referral(reply: &Message) -> bool {
    let authority =
        |wanted| reply.authorities.iter().map(Record::record_type).any(|it| it == wanted);
    reply.metadata.response_code == ResponseCode::NoError
        && reply.answers.is_empty()
        && authority(Wire::NS)
        && !authority(Wire::SOA)
}

#[cfg(test)]
mod tests {
    use hickory_resolver::proto::rr::rdata::{NS, SOA};
    use hickory_resolver::proto::rr::{Name, RData};

    use super::*;

    fn reply(code: ResponseCode, authority: &[RData]) -> (Message, Query) {
        let name = Name::from_ascii("example.com.").expect("a name");
        let query = Query::query(name.clone(), Wire::TXT);
        let mut message = Message::query();
        message.add_query(query.clone());
        message.metadata.response_code = code;
        let authority = authority.iter();
        message.authorities =
            authority.map(|it| Record::from_rdata(name.clone(), 60, it.clone())).collect();
        (message, query)
    }

    #[test]
    fn a_referral_is_no_statement_that_there_is_no_data() {
        let host = Name::from_ascii("ns.example.net.").expect("a name");
        let ns = RData::NS(NS(host.clone()));
        let soa = RData::SOA(SOA::new(host.clone(), host, 1, 1, 1, 1, 1));
        for (code, authority, expected) in [
            (ResponseCode::NoError, vec![], None),
            (ResponseCode::NoError, vec![soa.clone()], None),
            (ResponseCode::NoError, vec![ns.clone(), soa], None),
            (ResponseCode::NXDomain, vec![ns.clone()], None),
            (ResponseCode::NoError, vec![ns], Some(Failure::ServFail)),
            (ResponseCode::Refused, vec![], Some(Failure::Refused)),
            (ResponseCode::FormErr, vec![], Some(Failure::ServFail)),
        ] {
            let (message, query) = reply(code, &authority);
            assert_eq!(usable(message, &query).err(), expected, "{code} {authority:?}");
        }
    }

    #[test]
    fn the_reply_to_another_question_is_none() {
        let (message, mut query) = reply(ResponseCode::NXDomain, &[]);
        query.query_type = Wire::MX;
        assert_eq!(usable(message, &query).err(), Some(Failure::ServFail));
    }

    #[test]
    fn the_most_telling_failure_is_the_greatest() {
        assert!(Failure::ServFail > Failure::Refused && Failure::Refused > Failure::TimedOut);
    }
}
