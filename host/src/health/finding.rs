//! What a check found: its state, what was seen, why that matters, and what to do.

use crate::clock::Timestamp;

/// The checks, in the order in which they are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CheckName {
    Store,
    Integrity,
    Queue,
    Nodes,
    Backups,
    Disk,
    Listeners,
    Certificate,
    Clock,
    Descriptors,
    FileRights,
    ReverseDns,
    Spf,
    ReportsMx,
    MtaSts,
    Port25,
    BlockLists,
    SenderDomains,
    KeyAges,
    Plugins,
    Webhooks,
}

/// What a check is about where several servers share a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// One server: each tells of its own.
    Node,
    /// What all of them have in the database: one of them tells.
    Database,
}

/// How a part of the server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Ok,
    /// Somebody should look soon.
    Warning,
    /// The server cannot do a part of its work, or is about to.
    Failing,
    /// Nothing is known: never to be taken for well, and never for a fault.
    NotChecked,
}

/// What one check answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    pub state: State,
    /// What was seen; why nothing was, where it was not checked.
    pub what: String,
    /// What to do; none where nothing is to be done.
    pub todo: Option<String>,
    /// The plugin slots that it is about.
    pub slots: Vec<String>,
}

/// A verdict, and since when it has been so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub check: CheckName,
    pub verdict: Verdict,
    /// Since when the check has been in this state, as far as this start of the server knows.
    pub since: Timestamp,
    pub checked_at: Timestamp,
}

/// The findings of one run: one for each check, in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    pub at: Timestamp,
    pub findings: Vec<Finding>,
}

impl CheckName {
    pub const ALL: [Self; 21] = [
        Self::Store,
        Self::Integrity,
        Self::Queue,
        Self::Nodes,
        Self::Backups,
        Self::Disk,
        Self::Listeners,
        Self::Certificate,
        Self::Clock,
        Self::Descriptors,
        Self::FileRights,
        Self::ReverseDns,
        Self::Spf,
        Self::ReportsMx,
        Self::MtaSts,
        Self::Port25,
        Self::BlockLists,
        Self::SenderDomains,
        Self::KeyAges,
        Self::Plugins,
        Self::Webhooks,
    ];

    /// As the API, the metrics and the log name it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.words().0
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == name)
    }

    /// As people read it.
    #[must_use]
    pub fn title(self) -> &'static str {
        self.words().1
    }

    #[must_use]
    pub fn scope(self) -> Scope {
        match self {
            Self::Integrity
            | Self::Queue
            | Self::Nodes
            | Self::SenderDomains
            | Self::KeyAges
            | Self::Webhooks => Scope::Database,
            Self::Store
            | Self::Backups
            | Self::Disk
            | Self::Listeners
            | Self::Certificate
            | Self::Clock
            | Self::Descriptors
            | Self::FileRights
            | Self::ReverseDns
            | Self::Spf
            | Self::ReportsMx
            | Self::MtaSts
            | Self::Port25
            | Self::BlockLists
            | Self::Plugins => Scope::Node,
        }
    }

    /// Why it matters.
    #[must_use]
    pub fn why(self) -> &'static str {
        match self {
            Self::Store => "A server that cannot write accepts no mail and settles no delivery.",
            Self::Integrity => {
                "A damaged database loses messages later, when its damaged part is read."
            }
            Self::Queue => {
                "Mail that is due and not attempted reaches its recipients late: codes and links expire."
            }
            Self::Nodes => {
                "The mail of a node that is gone waits until others take it, and a clock that is wrong delays what \
                 another node has planned."
            }
            Self::Backups => {
                "Whoever loses the disk loses all that was accepted since the newest backup."
            }
            Self::Disk => "A server without room accepts no mail, and loses none.",
            Self::Listeners => "A port that takes no connections refuses every client.",
            Self::Certificate => {
                "Clients of SMTP and HTTPS refuse a certificate that has expired or names another host."
            }
            Self::Clock => {
                "Second factors, the time stamps of webhooks and DKIM signatures are refused where the clock is wrong."
            }
            Self::Descriptors => {
                "Without file descriptors the server accepts no connection and opens no file."
            }
            Self::FileRights => {
                "Whoever reads the master key or the database reads every key, password and message; and a server that \
                 cannot read its master key does not start again."
            }
            Self::ReverseDns => {
                "Large mailbox providers refuse mail from an address whose PTR record does not lead to a name \
                 that leads back to the address."
            }
            Self::Spf => {
                "Receivers take mail for forged where the SPF record of its envelope or of EHLO does not cover \
                 the address that it comes from."
            }
            Self::ReportsMx => {
                "Bounces and complaints come back to the host of return paths: without its MX record they are lost."
            }
            Self::MtaSts => {
                "Servers that honour MTA-STS hold their reports back where the policy cannot be read or does \
                 not name the MX host."
            }
            Self::Port25 => {
                "Many providers block connections to port 25: then no mail exchanger can be reached."
            }
            Self::BlockLists => {
                "Mailbox providers refuse mail from listed addresses, or put it into the folder for spam."
            }
            Self::SenderDomains => {
                "A domain that has lost its records stops sending when its grace is over."
            }
            Self::KeyAges => {
                "A DKIM key that is used for years may have been copied, and signs mail for whoever has it."
            }
            Self::Plugins => {
                "A slot with nothing that works refuses sends, or leaves them to a broader plugin."
            }
            Self::Webhooks => {
                "Programs that wait for events do not hear of bounces, complaints and failures."
            }
        }
    }

    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Store => ("store", "Store"),
            Self::Integrity => ("store_integrity", "Store integrity"),
            Self::Queue => ("queue", "Queue"),
            Self::Nodes => ("nodes", "Nodes"),
            Self::Backups => ("backups", "Backups"),
            Self::Disk => ("disk", "Disk"),
            Self::Listeners => ("listeners", "Listeners"),
            Self::Certificate => ("certificate", "Certificate"),
            Self::Clock => ("clock", "Clock"),
            Self::Descriptors => ("descriptors", "Open files"),
            Self::FileRights => ("file_rights", "File rights"),
            Self::ReverseDns => ("reverse_dns", "Reverse DNS"),
            Self::Spf => ("spf", "SPF"),
            Self::ReportsMx => ("reports_mx", "MX for reports"),
            Self::MtaSts => ("mta_sts", "MTA-STS"),
            Self::Port25 => ("port_25", "Port 25 out"),
            Self::BlockLists => ("block_lists", "Block lists"),
            Self::SenderDomains => ("sender_domains", "Sender domains"),
            Self::KeyAges => ("key_ages", "Key ages"),
            Self::Plugins => ("plugins", "Plugins"),
            Self::Webhooks => ("webhooks", "Webhooks"),
        }
    }
}

impl State {
    pub const ALL: [Self; 4] = [Self::Ok, Self::Warning, Self::Failing, Self::NotChecked];

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Failing => "failing",
            Self::NotChecked => "not_checked",
        }
    }

    fn weight(self) -> u8 {
        match self {
            Self::Ok | Self::NotChecked => 0,
            Self::Warning => 1,
            Self::Failing => 2,
        }
    }
}

impl Verdict {
    pub fn ok(what: impl Into<String>) -> Self {
        Self { state: State::Ok, what: what.into(), todo: None, slots: Vec::new() }
    }

    pub fn warning(what: impl Into<String>, todo: impl Into<String>) -> Self {
        Self { state: State::Warning, todo: Some(todo.into()), ..Self::ok(what) }
    }

    pub fn failing(what: impl Into<String>, todo: impl Into<String>) -> Self {
        Self { state: State::Failing, todo: Some(todo.into()), ..Self::ok(what) }
    }

    pub fn not_checked(why: impl Into<String>) -> Self {
        Self { state: State::NotChecked, ..Self::ok(why) }
    }
}

impl Report {
    /// The worst state of all: `ok` where nothing was found, though parts were not checked.
    #[must_use]
    pub fn worst(&self) -> State {
        let states = self.findings.iter().map(|it| it.verdict.state);
        states.max_by_key(|it| it.weight()).filter(|it| it.weight() > 0).unwrap_or(State::Ok)
    }

    #[must_use]
    pub fn of(&self, check: CheckName) -> Option<&Finding> {
        self.findings.iter().find(|it| it.check == check)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_check_has_a_name_of_its_own_and_says_why_it_matters() {
        let names: BTreeSet<&str> = CheckName::ALL.into_iter().map(CheckName::as_str).collect();
        assert_eq!(names.len(), CheckName::ALL.len());
        for check in CheckName::ALL {
            assert_eq!(CheckName::from_name(check.as_str()), Some(check));
            assert!(check.why().ends_with('.') && !check.title().is_empty(), "{check:?}");
        }
        assert_eq!(CheckName::from_name("weather"), None);
    }

    #[test]
    fn a_report_is_as_bad_as_its_worst_finding() {
        let at = Timestamp::from_millis(0);
        let report = |verdicts: Vec<Verdict>| {
            let finding = |(check, verdict)| Finding { check, verdict, since: at, checked_at: at };
            let findings = CheckName::ALL.into_iter().zip(verdicts).map(finding).collect();
            Report { at, findings }.worst()
        };
        assert_eq!(report(vec![Verdict::ok("a"), Verdict::not_checked("b")]), State::Ok);
        let warning = || Verdict::warning("a", "b");
        assert_eq!(report(vec![warning(), Verdict::not_checked("c")]), State::Warning);
        assert_eq!(report(vec![Verdict::failing("a", "b"), warning()]), State::Failing);
    }
}
