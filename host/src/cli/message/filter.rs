//! The options of `waxwing message list` that filter.

use clap::Args;

use super::super::key::moment;
use crate::clock::Timestamp;
use crate::message::address::EmailAddress;
use crate::message::state::MessageState;
use crate::store::MessageFilter;

#[derive(Debug, Args)]
pub struct Filter {
    /// Only those to this address
    #[arg(long)]
    to: Option<EmailAddress>,
    /// Only those from this address
    #[arg(long)]
    from: Option<EmailAddress>,
    /// Only those in this state; repeatable, or several with commas between them
    #[arg(long = "state", value_delimiter = ',', value_parser = state)]
    states: Vec<MessageState>,
    /// Only those of the template with this slug
    #[arg(long)]
    template: Option<String>,
    /// Only those with this tag
    #[arg(long)]
    tag: Option<String>,
    /// Only those whose subject holds this text
    #[arg(long)]
    subject: Option<String>,
    /// Only those accepted at this moment or later, RFC 3339
    #[arg(long, value_parser = moment)]
    since: Option<Timestamp>,
    /// Only those accepted before this moment, RFC 3339
    #[arg(long, value_parser = moment)]
    until: Option<Timestamp>,
}

impl From<Filter> for MessageFilter {
    fn from(filter: Filter) -> Self {
        let Filter { to, from, states, template, tag, subject, since, until } = filter;
        let all = Self::default();
        Self { to, from, states, template, tag, subject, since, until, ..all }
    }
}

fn state(text: &str) -> Result<MessageState, String> {
    MessageState::from_name(text).ok_or_else(|| {
        let known: Vec<&str> = MessageState::ALL.iter().map(|it| it.as_str()).collect();
        format!("a state is one of {}", known.join(", "))
    })
}
