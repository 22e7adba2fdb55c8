//! One query and its answer, or what goes wrong with it.

use std::iter;
use std::pin::Pin;
use std::sync::Arc;

use hickory_server::net::runtime::Time;
use hickory_server::net::xfer::Protocol;
use hickory_server::proto::op::ResponseCode;
use hickory_server::proto::op::{Edns, Header, HeaderCounts, MessageType, Metadata, OpCode};
use hickory_server::proto::rr::rdata::{A, NULL, TXT};
use hickory_server::proto::rr::{RData, Record, RecordType};
use hickory_server::server::{Request, RequestHandler, ResponseHandler, ResponseInfo};
use hickory_server::zone_handler::MessageResponseBuilder;
use tokio::time::sleep;

use crate::fault::Fault;
use crate::world::World;
use crate::zone::{Links, Reply, absolute, record, start_of_authority};

/// The largest UDP payload that this server takes.
const PAYLOAD: u16 = 1232;

/// Answers from a world.
#[derive(Debug)]
pub(crate) struct Handler(pub(crate) Arc<World>);

impl RequestHandler for Handler {
    // What `#[async_trait]` would write.
    fn handle_request<'own, 'request, 'future, R, T>(
        &'own self,
        request: &'request Request,
        responses: R,
    ) -> Pin<Box<dyn Future<Output = ResponseInfo> + Send + 'future>>
    where
        R: ResponseHandler + 'future,
        T: Time + 'future,
        'own: 'future,
        'request: 'future,
        Self: 'future,
    {
        Box::pin(respond(&self.0, request, responses))
    }
}

async fn respond<R: ResponseHandler>(
    world: &World,
    request: &Request,
    responses: R,
) -> ResponseInfo {
    let mut metadata = Metadata::response_from_request(&request.metadata);
    metadata.recursion_available = true;
    let info = match request.request_info() {
        Ok(info) if request.metadata.op_code == OpCode::Query => info,
        Ok(_) => return send(request, responses, code(metadata, ResponseCode::NotImp), &[]).await,
        Err(_) => {
            return send(request, responses, code(metadata, ResponseCode::FormErr), &[]).await;
        }
    };
    let record_type = info.query.query_type();
    let asked = info.query.original().name();
    let _in_progress = world.begin(info.query.name(), record_type);
    let on_the_way = world.answer(asked, record_type, Links::All);
    let mut links = Links::All;
    let mut spoil: fn(&mut Reply, RecordType) = |_, _| {};
    let over_udp = info.protocol == Protocol::Udp;
    match world.meet(info.query.name(), &on_the_way) {
        Some(Fault::ServFail) => {
            return send(request, responses, code(metadata, ResponseCode::ServFail), &[]).await;
        }
        Some(Fault::Refused) => {
            return send(request, responses, code(metadata, ResponseCode::Refused), &[]).await;
        }
        Some(Fault::NotImplemented) => {
            return send(request, responses, code(metadata, ResponseCode::NotImp), &[]).await;
        }
        Some(Fault::Truncated | Fault::NoTcp) if over_udp => {
            metadata.truncation = true;
            return send(request, responses, metadata, &[]).await;
        }
        Some(Fault::Silent | Fault::NoTcp) => return nothing(metadata),
        Some(Fault::Slow(time)) => sleep(time).await,
        Some(Fault::Malformed) => spoil = malform,
        Some(Fault::Unrelated) => spoil = surround,
        Some(Fault::OneLink) => links = Links::One,
        None | Some(Fault::Truncated | Fault::Lost(_)) => {}
    }
    // After the wait: what was changed meanwhile is seen.
    let mut reply = world.answer(asked, record_type, links);
    spoil(&mut reply, record_type);
    metadata.authentic_data = reply.secure && request.metadata.authentic_data;
    if reply.nx_domain {
        metadata.response_code = ResponseCode::NXDomain;
    }
    send(request, responses, metadata, &reply.answers).await
}

async fn send<R: ResponseHandler>(
    request: &Request,
    mut responses: R,
    metadata: Metadata,
    answers: &[Record],
) -> ResponseInfo {
    let edns = request.edns.as_ref().map(|theirs| {
        let mut edns = Edns::new();
        edns.set_max_payload(theirs.max_payload().clamp(512, PAYLOAD));
        edns
    });
    let negative = answers.iter().all(|it| it.record_type() == RecordType::CNAME)
        && matches!(metadata.response_code, ResponseCode::NoError | ResponseCode::NXDomain)
        && !metadata.truncation;
    let soa = negative.then(start_of_authority);
    let response = MessageResponseBuilder::new(&request.queries, edns.as_ref()).build(
        metadata,
        answers,
        iter::empty(),
        &soa,
        iter::empty(),
    );
    // Who asked may be gone; nobody else would want to know.
    responses.send_response(response).await.unwrap_or_else(|_| nothing(metadata))
}

/// The account of a response that is not sent.
fn nothing(metadata: Metadata) -> ResponseInfo {
    debug_assert_eq!(metadata.message_type, MessageType::Response, "made from a request");
    ResponseInfo::from(Header { metadata, counts: HeaderCounts::default() })
}

fn code(mut metadata: Metadata, response_code: ResponseCode) -> Metadata {
    metadata.response_code = response_code;
    metadata
}

/// Record data that says to be longer than it is, whatever its type; where there is none, one.
fn malform(reply: &mut Reply, record_type: RecordType) {
    if reply.answers.is_empty() {
        reply.answers.push(start_of_authority());
    }
    for it in &mut reply.answers {
        it.data = RData::Unknown { code: record_type, rdata: NULL::with(vec![9]) };
    }
}

/// Records that nobody asked for: what a poisoner would add.
fn surround(reply: &mut Reply, record_type: RecordType) {
    let data = if record_type == RecordType::TXT {
        RData::TXT(TXT::new(vec!["unrelated".to_owned()]))
    } else {
        RData::A(A::new(192, 0, 2, 66))
    };
    reply.answers.insert(0, record(absolute("unrelated.invalid"), data.clone()));
    reply.answers.push(record(absolute("also.unrelated.invalid"), data));
}
