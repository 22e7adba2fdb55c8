//! `waxwing-load transit`: how long a message takes from its 201 to the 250 of the next server, at a fixed rate of sends.
//!
//! Both moments are taken by this program: when a client has read the 201, and when the sink has the end of the
//! message's data and is about to answer it. A message that is handed over before its client has read the 201 took no time.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use waxwing_mx::Stage;

use crate::args::{Mode, TransitArgs};
use crate::deliver::plant::{Plant, taken, written_down};
use crate::drive::drive;
use crate::requests::Requests;
use crate::{figures, process};

/// Sends that are not measured: templates get compiled, connections get opened.
const WARM_UP: u32 = 1_000;

pub async fn measure(args: &TransitArgs) -> io::Result<Value> {
    let plant = Plant::new(&args.setup).await?;
    let server = plant.serve().await?;
    let requests = Requests::new(args.template, Mode::Deliver, &server.api_key).await?;
    let requests = Arc::new(requests);
    let send = |sends| drive(server.address, &requests, args.connections, Some(args.rate), sends);
    send(WARM_UP).await?;
    taken(&plant.sink, WARM_UP).await?;
    written_down(&server).await?;
    plant.sink.forget();
    let handed_over: Arc<Mutex<HashMap<String, Instant>>> = Arc::default();
    let notes = Arc::clone(&handed_over);
    plant.sink.on(Stage::EndOfData, move |it| {
        let now = Instant::now();
        let mut notes = notes.lock().unwrap_or_else(PoisonError::into_inner);
        notes.extend(it.recipients.iter().map(|it| (it.address.clone(), now)));
    });
    let before = process::cpu(&[server.pid])?;
    let answers = send(args.sends).await?;
    if answers.statuses.get(&201) != Some(&u64::from(args.sends)) {
        let message = format!("not every send is accepted: {:?}", answers.statuses);
        return Err(io::Error::other(message));
    }
    taken(&plant.sink, args.sends).await?;
    written_down(&server).await?;
    let cpu = process::cpu(&[server.pid])?.saturating_sub(before);
    server.stop().await?;
    let handed_over = handed_over.lock().unwrap_or_else(PoisonError::into_inner);
    let mut micros = Vec::new();
    for (number, accepted) in answers.ended {
        let recipient = Requests::recipient(number);
        let Some(moment) = handed_over.get(&recipient) else {
            return Err(io::Error::other(format!("the sink has no message to {recipient}")));
        };
        let took = moment.saturating_duration_since(accepted).as_micros();
        micros.push(u64::try_from(took).unwrap_or(u64::MAX));
    }
    micros.sort_unstable();
    let millis =
        |percent| figures::millis(Duration::from_micros(figures::percentile(&micros, percent)));
    Ok(json!({
        "protocol": "transit",
        "template": args.template.as_str(),
        "ratePerSecond": args.rate,
        "sends": args.sends,
        "p50Millis": millis(50),
        "p99Millis": millis(99),
        "maxMillis": millis(100),
        "cpuMicrosPerMessage": figures::share(cpu, u64::from(args.sends)) / 1_000,
    }))
}
