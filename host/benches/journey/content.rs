//! Before and after the plugins: a request's body in, an RFC 5322 message out.

use std::hint::black_box;

use criterion::{BatchSize, Criterion};
use waxwing::clock::Clock;
use waxwing::journey::accept::json;
use waxwing::journey::accept::submission::Submission;
use waxwing::mail::mime::{self, Outgoing};
use waxwing::message::address::EmailAddress;
use waxwing::message::channel::Channel;
use waxwing::plugin::renderer::Part;
use waxwing::store::records::Body;

use crate::{plugins, sample};

pub fn accept(criterion: &mut Criterion) {
    let body = sample::body();
    let now = Clock::system().now();
    criterion.bench_function("accept: JSON", |b| {
        b.iter(|| black_box(json::parse_body(&body).expect("the sample is JSON")));
    });
    let value = json::parse(&body).expect("the sample is JSON");
    criterion.bench_function("accept: submission", |b| {
        b.iter_batched(
            || value.clone(),
            |value| black_box(Submission::parse(Channel::Api, value, now).expect("it is valid")),
            BatchSize::SmallInput,
        );
    });
}

pub fn compose(criterion: &mut Criterion) {
    let from: EmailAddress = "hello@sandbox.test".parse().expect("an address");
    let to: EmailAddress = "ada@example.com".parse().expect("an address");
    let parts = rendered();
    let outgoing = Outgoing {
        message_id: "01m7y87r9gt8c099nsgf4vhwxp@sandbox.test",
        date: Clock::system().now(),
        from_name: None,
        from: &from,
        to: &to,
        reply_to: None,
        subject: &parts[0],
        text: Some(&parts[2]),
        html: Some(&parts[1]),
        attachments: &[],
        headers: &[],
    };
    criterion.bench_function("compose MIME", |b| {
        b.iter(|| black_box(mime::compose(&outgoing)));
    });
    let raw = mime::compose(&outgoing);
    criterion.bench_function("compress the message", |b| b.iter(|| black_box(Body::pack(&raw))));
}

/// Subject, HTML and text, as the component renders them.
pub fn rendered() -> [String; 3] {
    let bench = plugins::Bench::start();
    let data = serde_json::to_string(&sample::data()).expect("JSON");
    let output = bench.runtime.block_on(bench.render(plugins::version(), &data));
    [Part::Subject, Part::Html, Part::Text].map(|part| {
        let body = output.bodies.iter().find(|body| body.part == part);
        body.expect("every part is rendered").text.clone()
    })
}
