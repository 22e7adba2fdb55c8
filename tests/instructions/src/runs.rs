//! The fixed runs, from the body of a request to the bytes of a signed message.

mod accept;
mod commit;
mod plugins;
mod send;
mod sign;
mod smtp;

use std::path::Path;

use tokio::runtime::Builder;
use waxwing::clock::{Clock, Timestamp};

use super::rounds::Rounds;

const NOW: Timestamp = Timestamp::from_millis(1_782_864_000_000);

/// Makes them all. `directory` keeps what is not to be made again: machine code, and keys.
pub fn all(rounds: &mut Rounds, directory: &Path) {
    // One thread, and a clock that stands still: what is counted does not depend on the machine's mood.
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    let clock = Clock::manual(NOW);
    accept::accept(rounds);
    smtp::receive(rounds);
    sign::sign(rounds, directory);
    let plugins = plugins::start(&runtime, &clock, directory);
    plugins::plan(rounds, &runtime, &plugins);
    plugins::render(rounds, &runtime, &plugins);
    commit::commit(rounds, &runtime, &clock);
    send::send(rounds, &runtime, &clock, plugins);
}
