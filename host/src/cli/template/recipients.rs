//! `waxwing template recipients`: the addresses that tests really go to.

use clap::Subcommand;
use reqwest::Method;
use serde_json::{Value, json};

use super::super::output::text;
use super::super::plugin::{OnlineError, OnlineServer};
use crate::message::address::EmailAddress;

const PATH: &str = "/v1/test-recipients";

/// Addresses that tests of templates really go to; all other tests go into the sandbox inbox
#[derive(Debug, Subcommand)]
pub enum RecipientsCommand {
    /// List them
    List {
        #[command(flatten)]
        server: OnlineServer,
    },
    /// Ask the holder of an address by a mail, which the account pays; it counts once its link was confirmed
    Add {
        address: EmailAddress,
        #[command(flatten)]
        server: OnlineServer,
    },
    /// Take an address off the list
    Remove {
        address: EmailAddress,
        #[command(flatten)]
        server: OnlineServer,
    },
}

pub async fn run(command: RecipientsCommand) -> Result<(), OnlineError> {
    match command {
        RecipientsCommand::List { server } => {
            let answer = server.connect_as_holder()?.get(PATH, &[]).await?;
            let data = answer["data"].as_array().map(Vec::as_slice).unwrap_or_default();
            server.output.list(data, line);
        }
        RecipientsCommand::Add { address, server } => {
            let body = json!({"address": address.to_string()}).to_string().into_bytes();
            let file = ("application/json", body);
            let answer = server.connect_as_holder()?.send(Method::POST, PATH, &[], file).await?;
            server.output.one(&answer, || line(&answer));
        }
        RecipientsCommand::Remove { address, server } => {
            let mut path = format!("{PATH}/");
            path.extend(url::form_urlencoded::byte_serialize(address.folded().as_bytes()));
            let connection = server.connect_as_holder()?;
            let answer = connection.delete(&path).await?;
            server.output.one(&answer, || format!("{} is off the list", text(&answer, "address")));
        }
    }
    Ok(())
}

fn line(it: &Value) -> String {
    let state = match (&it["confirmedAt"], &it["messageId"]) {
        (Value::String(at), _) => format!("confirmed {at}"),
        (_, Value::String(message)) => format!("asked by {message}"),
        _ => "not confirmed yet".to_owned(),
    };
    format!("{}  {state}", text(it, "address"))
}
