//! The overview: is mail flowing? Four steps for a newcomer, and what needs attention.

use askama::Template;
use axum::extract::State;
use axum::response::Response;

use super::chart::Chart;
use super::credits::{lasts, terms_of};
use super::frame::{Frame, Place};
use super::guard::{Submitted, Theme, Visitor};
use super::messages::Line;
use super::response::{Failure, page, to};
use super::sending::{Sample, curl};
use super::state::Dashboard;
use super::words::{number, shortened};
use crate::account::AccountState;
use crate::domain::state::{DomainKind, Phase};
use crate::id::AccountId;
use crate::management::keys::{self, Grantor};
use crate::message::state::MessageState;
use crate::store::{AccountRow, DomainRow, MessageFilter, PersonRow};

const NEWEST_FAILURES: u32 = 5;
const NEWEST_MESSAGES: u32 = 5;
/// A failure from before then needs no attention any more.
const RECENT_HOURS: u64 = 7 * 24;
const CHART_HOURS: u32 = 24;
const MAX_DOMAINS: u32 = 100;

/// One of the first steps.
#[derive(Debug)]
struct Step {
    is_done: bool,
    title: &'static str,
    about: &'static str,
    /// Where it is done; none where no page of the dashboard does it.
    links: Vec<(&'static str, &'static str)>,
}

/// Something to look at.
#[derive(Debug)]
struct Attention {
    /// Class, glyph and word of its badge.
    badge: (&'static str, &'static str, &'static str),
    title: String,
    about: String,
    /// The page where it is mended; none where the operator mends it.
    link: Option<String>,
}

#[derive(Template)]
#[template(path = "app/overview.html")]
struct OverviewPage {
    frame: Frame,
    steps: Vec<Step>,
    is_new: bool,
    curl: String,
    balance: String,
    is_empty: bool,
    /// How long the balance lasts.
    lasts: Option<String>,
    month: String,
    accepted: String,
    delivered: Option<String>,
    under_way: String,
    chart: Chart,
    attention: Vec<Attention>,
    failures: Vec<Line>,
    newest: Vec<Line>,
}

pub async fn show(
    State(dashboard): State<Dashboard>,
    visitor: Visitor,
) -> Result<Response, Failure> {
    let api = &dashboard.api;
    let (account, role) = (visitor.account()?, visitor.role()?);
    let now = api.clock.now();
    let _page = api.lists.admit(account).await?;
    let row = api.store.account(account, now).await?;
    let (keys, _) = keys::list(&api.store, Grantor::Person(role), account, None, 1).await?;
    let domains = api.store.domains(account, None, MAX_DOMAINS).await?;
    let all = MessageFilter::default();
    let newest = api.store.messages(account, &all, None, NEWEST_MESSAGES).await?.messages;
    let since = Some(now.before(std::time::Duration::from_hours(RECENT_HOURS)));
    let states = vec![MessageState::Deferred, MessageState::Bounced, MessageState::Failed];
    let failed = MessageFilter { states, since, ..MessageFilter::default() };
    let failures = api.store.messages(account, &failed, None, NEWEST_FAILURES).await?.messages;
    let real = own_domains(&domains);
    let has_sent_really = !real.is_empty() && {
        let of_domains = MessageFilter { domains: real.clone(), ..MessageFilter::default() };
        !api.store.messages(account, &of_domains, None, 1).await?.messages.is_empty()
    };
    let done = [!keys.is_empty(), !newest.is_empty(), !real.is_empty(), has_sent_really];
    let sample = Sample::of(&dashboard, &row).await?;
    let hours = api.store.sent_by_hour(account, CHART_HOURS, now).await?;
    let chart = Chart::of(&hours, CHART_HOURS, now);
    let count = |messages: u64| number(i64::try_from(messages).unwrap_or(i64::MAX));
    let line = |row| Line::of(row, now);
    page(&OverviewPage {
        steps: steps(done, first_message(sample.as_ref(), &row)),
        is_new: done.contains(&false),
        curl: curl(&visitor, sample.as_ref(), "YOUR_KEY"),
        balance: number(row.balance.0),
        is_empty: row.balance.0 <= 0,
        lasts: lasts(&row, terms_of(&dashboard, &row).and_then(|it| it.credits_per_recipient)),
        month: count(row.sent_month),
        accepted: count(chart.accepted),
        delivered: chart.delivered_share(),
        under_way: count(chart.under_way),
        chart,
        attention: attention(&row, &domains, &visitor.person.user),
        failures: failures.into_iter().map(line).collect(),
        newest: newest.into_iter().map(line).collect(),
        frame: Frame::of(&dashboard, &visitor, Place::Overview).await?,
    })
}

/// Shows another account of the person from now on.
pub async fn show_account(
    State(dashboard): State<Dashboard>,
    sent: Submitted,
) -> Result<Response, Failure> {
    let account: AccountId = sent.form.get("account").parse().map_err(|_| Failure::Missing)?;
    if dashboard.people.show_account(&sent.visitor.person, account).await? {
        Ok(to("/app"))
    } else {
        Err(Failure::Missing)
    }
}

/// What the first message takes, and the pages of what is missing.
fn first_message(
    sample: Option<&Sample>,
    row: &AccountRow,
) -> (&'static str, Vec<(&'static str, &'static str)>) {
    let (template, sender) =
        (("/app/new-template", "New template"), ("/app/domains#sender", "Default sender"));
    match (sample, sample.map_or(row.account.sender.is_some(), |it| it.has_sender)) {
        (Some(_), true) => ("Paste the command below into a terminal.", Vec::new()),
        (Some(_), false) => (
            "The account has no default sender, so the command below is refused. Set one first, at a domain of the \
             account; a sandbox domain sends at once.",
            vec![sender],
        ),
        (None, true) => {
            ("Publish a template first: the command below then names it.", vec![template])
        }
        (None, false) => (
            "Publish a template first: the command below then names it. The account also needs a default sender, at a \
             domain of its own; a sandbox domain sends at once.",
            vec![template, sender],
        ),
    }
}

fn steps(
    [key, test, domain, real]: [bool; 4],
    (about_test, links_of_test): (&'static str, Vec<(&'static str, &'static str)>),
) -> Vec<Step> {
    vec![
        Step {
            is_done: key,
            title: "Make an API key",
            about: "A program shows it with each message.",
            links: vec![("/app/keys/new", "New key")],
        },
        Step {
            is_done: test,
            title: "Send a first message",
            about: about_test,
            links: links_of_test,
        },
        Step {
            is_done: domain,
            title: "Verify a sender domain",
            about: "The page of the domain shows which DNS records to publish.",
            links: vec![("/app/domains", "Add domain")],
        },
        Step {
            is_done: real,
            title: "Send from your domain",
            about: "The first message that leaves to the world.",
            links: Vec::new(),
        },
    ]
}

fn own_domains(domains: &[DomainRow]) -> Vec<String> {
    let is_own = |it: &&DomainRow| {
        it.domain.kind != DomainKind::Sandbox && it.domain.standing.phase == Phase::Verified
    };
    domains.iter().filter(is_own).map(|it| it.domain.name.to_string()).collect()
}

const URGENT: (&str, &str, &str) = ("bad", "✕", "urgent");
const LOOK: (&str, &str, &str) = ("wait", "↻", "look");

fn attention(row: &AccountRow, domains: &[DomainRow], user: &PersonRow) -> Vec<Attention> {
    let mut found = Vec::new();
    if row.account.state == AccountState::Suspended {
        found.push(Attention {
            badge: URGENT,
            title: "The account is suspended".to_owned(),
            about: "Every send is refused until the operator of this server resumes the account."
                .to_owned(),
            link: None,
        });
    }
    if row.balance.0 <= 0 {
        let (who, link) = if user.is_operator {
            (
                "As the operator of this server you grant credits on the page of the account.",
                format!("/ops/accounts/{}", row.account.id),
            )
        } else {
            ("The operator of this server grants credits.", "/app/credits".to_owned())
        };
        found.push(Attention {
            badge: URGENT,
            title: "There are no credits left".to_owned(),
            about: format!("Sends are refused with INSUFFICIENT_BALANCE. {who}"),
            link: Some(link),
        });
    }
    for it in domains {
        let badge = match it.domain.standing.phase {
            Phase::Verified => continue,
            Phase::Pending | Phase::Warned => LOOK,
            Phase::Degraded | Phase::Failed => URGENT,
        };
        let missing = it.domain.standing.missing.join(", ");
        found.push(Attention {
            badge,
            title: format!(
                "{} is {}",
                shortened(&it.domain.name.to_string()),
                it.domain.standing.phase.as_str()
            ),
            about: if missing.is_empty() {
                "DNS is looked at again soon.".to_owned()
            } else {
                shortened(&format!("Still to publish in DNS: {missing}."))
            },
            link: Some(format!("/app/domains/{}", it.domain.id)),
        });
    }
    found
}
