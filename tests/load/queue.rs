//! `waxwing-load queue`: a million messages are due at one time. Whether the server takes them up as
//! fast as those of a short queue, from the first to the last, and what that does to its memory.

use std::io;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::args::{Backlog, QueueArgs, Setup};
use crate::deliver::filling::{Bodies, Waiting};
use crate::deliver::plant::Plant;
use crate::figures::{self, mebibytes};
use crate::{metrics, process};

/// Messages that share a body.
const SHARE: u32 = 1_000;
const SAMPLE: Duration = Duration::from_millis(100);
/// The same where the server itself is asked, which counts its queue for each answer.
const SELDOM: Duration = Duration::from_secs(1);
/// A queue that is not emptied any more is a failure.
const STUCK: Duration = Duration::from_mins(1);

/// How a queue was emptied, or begun to be.
struct Course {
    messages: u32,
    /// When, since they were due, and how many the sink had.
    samples: Vec<(Duration, usize)>,
    start_kib: u64,
    peak_kib: u64,
    cpu_nanos: u64,
    left: u64,
}

/// Measures what the arguments ask for.
pub async fn measure(args: &QueueArgs) -> io::Result<Value> {
    let original = Plant::new(&args.setup).await?;
    let begin = async |messages, watch| {
        let waiting = args.shape.waiting(messages, args.short);
        empty(&original, &args.setup, args.shape, &waiting, watch).await
    };
    let before = begin(args.short, Duration::MAX).await?;
    let long = begin(args.messages, args.watch()).await?;
    let after = begin(args.short, Duration::MAX).await?;
    let short = u64::midpoint(before.per_second(), after.per_second());
    let peak = before.peak_kib.max(after.peak_kib);
    Ok(json!({
        "protocol": "queue",
        "shape": format!("{:?}", args.shape),
        "long": long.to_json(),
        "shortBefore": before.to_json(),
        "shortAfter": after.to_json(),
        "ratios": {
            "messagesPerSecond": figures::ratio(long.per_second(), short),
            "peakMemory": figures::ratio(long.peak_kib, peak),
        },
    }))
}

/// Lets a server of its own empty a queue, for so long at most. No message may be lost.
async fn empty(
    original: &Plant,
    setup: &Setup,
    shape: Backlog,
    waiting: &[Waiting],
    watch: Duration,
) -> io::Result<Course> {
    let mut plant = original.copy(setup).await?;
    if shape == Backlog::Held {
        plant = plant.with_held_up_domain();
    }
    let mut filling = plant.filling().await?;
    let messages: u32 = waiting.iter().map(|it| it.messages).sum();
    let begun = plant.begin(&mut filling, waiting, Bodies::Shared(SHARE)).await?;
    // Those that stand last can be delivered, also where the others are held up.
    let can_be =
        if shape == Backlog::Held { waiting.last().map_or(0, |it| it.messages) } else { messages };
    let wanted = usize::try_from(can_be).map_err(io::Error::other)?;
    let mut samples = vec![(Duration::ZERO, 0)];
    let mut progress = Instant::now();
    loop {
        tokio::time::sleep(if shape == Backlog::Sandbox { SELDOM } else { SAMPLE }).await;
        let count = match shape {
            Backlog::Sandbox => {
                let delivered = metrics::read(begun.server.address).await?.delivered;
                usize::try_from(delivered).map_err(io::Error::other)?
            }
            Backlog::Domain | Backlog::Domains | Backlog::Held => plant.sink.message_count(),
        };
        let elapsed = begun.begin.elapsed();
        if samples.last().is_none_or(|it| count > it.1) {
            progress = Instant::now();
        }
        samples.push((elapsed, count));
        if count >= wanted || elapsed >= watch {
            break;
        }
        if progress.elapsed() > STUCK {
            let message = format!("the sink has {count} of {wanted}\n{}", plant.log());
            return Err(io::Error::other(message));
        }
    }
    let cpu = process::cpu(&[begun.server.pid])?.saturating_sub(begun.cpu);
    let peak_kib = process::memory(begun.server.pid)?.peak_kib;
    begun.server.stop().await?;
    let (left, relayed) = filling.counts().await?;
    let taken = match shape {
        Backlog::Sandbox => relayed,
        Backlog::Domain | Backlog::Domains | Backlog::Held => plant.sink.message_count() as u64,
    };
    if left + relayed != u64::from(messages) || taken < relayed {
        let message = format!("{left} wait, {relayed} are relayed, the sink has {taken}");
        return Err(io::Error::other(message));
    }
    let seen = samples.last().map_or(0, |it| it.1) as u64;
    Ok(Course {
        messages,
        samples,
        start_kib: begun.memory.resident_kib,
        peak_kib,
        cpu_nanos: figures::share(cpu, seen),
        left,
    })
}

impl Backlog {
    /// A queue of so many messages; in a short one as many can be delivered.
    fn waiting(self, messages: u32, short: u32) -> Vec<Waiting> {
        let one = Waiting::for_one_domain(messages);
        match self {
            Self::Domain => vec![one],
            Self::Sandbox => vec![Waiting { route: "sandbox", ..one }],
            Self::Domains => {
                vec![Waiting { recipients: "load-%09d@n%d.example", domains: 10_000, ..one }]
            }
            Self::Held => vec![
                Waiting { recipients: "load-%09d@held.example", ..one },
                Waiting::for_one_domain(short),
            ],
        }
    }
}

impl Course {
    fn per_second(&self) -> u64 {
        self.rate(0, 3)
    }

    /// Between two thirds of the time.
    fn rate(&self, from: usize, to: usize) -> u64 {
        let end = self.samples.len().saturating_sub(1);
        let at = |third: usize| self.samples.get(end * third / 3).copied().unwrap_or_default();
        let ((begin, first), (end, last)) = (at(from), at(to));
        figures::per_second((last - first) as u64, end.saturating_sub(begin))
    }

    fn to_json(&self) -> Value {
        json!({
            "messages": self.messages,
            "left": self.left,
            "messagesPerSecond": self.per_second(),
            "atTheBegin": self.rate(0, 1),
            "inTheMiddle": self.rate(1, 2),
            "atTheEnd": self.rate(2, 3),
            "cpuMicrosPerMessage": self.cpu_nanos / 1_000,
            "startMemoryMb": mebibytes(self.start_kib),
            "peakMemoryMb": mebibytes(self.peak_kib),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_those_of_thirds_of_the_time() {
        let samples = [(0, 0), (1, 100), (2, 300), (3, 400)];
        let samples = samples.map(|(at, count)| (Duration::from_secs(at), count)).to_vec();
        let course =
            Course { messages: 400, samples, start_kib: 1, peak_kib: 2, cpu_nanos: 0, left: 0 };
        assert_eq!([course.rate(0, 1), course.rate(1, 2), course.rate(2, 3)], [100, 200, 100]);
        assert_eq!(course.per_second(), 133);
    }
}
