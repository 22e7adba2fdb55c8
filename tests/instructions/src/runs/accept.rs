//! Measured step: JSON body to `Submission`.

use waxwing::journey::accept::json;
use waxwing::journey::accept::submission::Submission;
use waxwing::message::channel::Channel;

use super::NOW;
use crate::rounds::Rounds;
use crate::sample;

pub fn accept(rounds: &mut Rounds) {
    let body = sample::body();
    rounds.run("accept", || (), |()| parse(&body));
}

/// The submission in a request's body.
pub fn parse(body: &[u8]) -> Submission {
    let body = json::parse_body(body).expect("the sample is JSON");
    Submission::parse(Channel::Api, body, NOW).expect("the sample is valid")
}
