//! `waxwing plugin record`: looks up in DNS what the domain policy requires of a real domain, and keeps calls and
//! verdict as a golden case.

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::Args;
use serde_json::{Map, Value, json};

use super::error::ToolError;
use super::local_validation::{ToolHost, Tools};
use super::project::{Subject, Which};
use super::record_error::RecordError;
use super::test::write;
use crate::cli::output::text;
use crate::config::NameServer;
use crate::dns::Resolver;
use crate::domain::name::DomainName;
use crate::mail::dkim::Algorithm;
use crate::plugin::domain::{DkimKey, Domain, DomainPolicy, Lookup, Requirement, Verdict};
use crate::plugin::golden_cases::MAX_INPUT_BYTES;
use crate::plugin::installed::InstalledPlugin;
use crate::plugin::records::{Call, Input, answer};
use crate::plugin::validation::UNOBSERVED;
use crate::plugin::{CallContext, CallFailure, Kind};
use crate::server;
use crate::upkeep::verify_domains::{Lookups, MAX_NAMES, MAX_RECORDS, MAX_ROUNDS, Unjudged};

/// Characters of a case's name, at most.
const MAX_CASE_NAME_CHARS: usize = 100;

/// The server's name where no configuration gives one: that of the other golden cases.
const PLACEHOLDER_HOSTNAME: &str = "mail.example.net";

/// Record what DNS has of a real domain, as a golden case of a domain policy
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  waxwing plugin record example.com                    a case for the project here
  waxwing plugin record example.com --case no-dmarc --nameserver 9.9.9.9
  waxwing plugin record example.com --token 3f9a… --selector wx1r:rsa-sha256:MIIBIjANBg…

The built component says which records the domain needs, they are looked up, as a server does it,
and cases/<case>/input.json keeps what was seen, expected.json what the policy makes of it now.
The server's own hosts are those of --config or WAXWING_SMTP__HOSTNAME, else of mail.example.net.
From then on `waxwing plugin test` needs no DNS. Look at what was written before you keep it.")]
pub struct Record {
    /// The domain, as in example.com
    domain: DomainName,
    /// The project's folder
    #[arg(default_value = ".")]
    dir: PathBuf,
    /// The case's name [default: the domain's]
    #[arg(long, value_name = "NAME", value_parser = case_name)]
    case: Option<String>,
    /// The token that proves the ownership
    #[arg(long, default_value = "tok3n")]
    token: String,
    /// A DKIM key: its selector, `rsa-sha256` or `ed25519-sha256`, and the `p=` of its record
    #[arg(long = "selector", value_name = "NAME:ALGORITHM:KEY")]
    selectors: Vec<Key>,
    /// The plan of the account
    #[arg(long, default_value = "free")]
    plan: String,
    /// Asked instead of those of the configuration or the system, as in 9.9.9.9 or 127.0.0.1:5300
    #[arg(long = "nameserver", value_name = "ADDRESS", value_parser = name_server)]
    nameservers: Vec<NameServer>,
    /// Write a case that is there already once more
    #[arg(long)]
    update: bool,
    #[command(flatten)]
    tools: Tools,
}

/// A DKIM key on the command line.
#[derive(Debug, Clone)]
pub struct Key(DkimKey);

pub async fn run(record: Record) -> Result<(), ToolError> {
    let host = record.tools.open()?;
    let subject = Which::at(record.dir.clone()).find(&host)?;
    let log = host.validator.log(&subject.candidate.slot);
    let validated = host.validator.validate(&subject.candidate, log, None, UNOBSERVED).await?;
    let InstalledPlugin::Domain(installed) = &validated else {
        return Err(RecordError::NotADomainPolicy { found: validated.kind() }.into());
    };
    let case = record.case.clone().unwrap_or_else(|| record.domain.to_string());
    let files = Files::of(&subject, &case);
    if files.are_there() && !record.update {
        return Err(RecordError::CaseExists { path: files.folder }.into());
    }
    let asked = Asked {
        policy: &installed.plugin,
        plugin: &validated.identity().name,
        context: context(&host),
        domain: record.described(&host),
    };
    let looks = asked.look(&record.resolver(&host)?).await.map_err(RecordError::from)?;
    let input = asked.input(&looks);
    // Asked as `plugin test` will ask: by what the file says.
    let call = Call::from_json(Kind::Domain, &input).expect("it is the form of a call");
    let (answer, failure) = validated.dry_run(&call).await;
    if let Some(failure) = failure {
        return Err(RecordError::from(Unjudged::from(failure)).into());
    }
    files.write(&input, &answer)?;
    let value = json!({
        "case": case,
        "input": files.input,
        "expected": files.expected,
        "plugin": validated.identity().name,
        "digest": subject.artifact.digest(),
        "lookups": looks.to_json(),
        "answer": answer,
    });
    record.tools.output.one(&value, || lines(&value, &files.folder));
    Ok(())
}

impl Record {
    fn described(&self, host: &ToolHost) -> Domain {
        let mut config = host.config.clone();
        // A case says the same on every machine.
        let nobodys = || PLACEHOLDER_HOSTNAME.parse().expect("a host name");
        config.smtp.hostname.get_or_insert_with(nobodys);
        let rules = server::domain_checks::check_settings(&config);
        Domain {
            name: self.domain.as_str().to_owned(),
            organizational_domain: self.domain.organizational().to_owned(),
            verification_token: self.token.clone(),
            dkim: self.selectors.iter().map(|it| it.0.clone()).collect(),
            spf_include: rules.spf_include,
            return_path_host: rules.return_path_host,
            plan: self.plan.clone(),
            extra: Vec::new(),
        }
    }

    fn resolver(&self, host: &ToolHost) -> Result<Resolver, RecordError> {
        let mut config = host.config.clone();
        if !self.nameservers.is_empty() {
            config.dns.nameservers.clone_from(&self.nameservers);
        }
        Ok(server::resolvers::resolver(&config, &host.clock)?)
    }
}

/// Who is asked, and what of.
struct Asked<'a> {
    policy: &'a DomainPolicy,
    plugin: &'a str,
    context: CallContext,
    domain: Domain,
}

impl Asked<'_> {
    /// Looks up what the policy requires, and what it then asks for, within the bounds of a server.
    async fn look(&self, resolver: &Resolver) -> Result<Lookups, Unjudged> {
        let required = self.policy.require(&self.context, &self.domain).await?;
        let said = answer::requirements(&required);
        let Ok(requirements) = required else { return Err(self.gave_up("require", &said)) };
        let (plugin, count) = (self.plugin.to_owned(), requirements.len());
        if count > MAX_RECORDS {
            return Err(Unjudged::TooManyRecords { plugin, count });
        }
        let mut looks = Lookups::begin();
        looks.make(resolver, requirements.into_iter().map(lookup).collect()).await;
        let mut names = 0;
        for round in 0..=MAX_ROUNDS {
            let seen = looks.observations();
            let judged = self.policy.judge(&self.context, &self.domain, &seen).await?;
            let said = answer::verdict(&judged);
            let further = match judged {
                Ok(Verdict::Decided(_)) => return Ok(looks),
                Ok(Verdict::Need(further)) => further,
                Err(_) => return Err(self.gave_up("judge", &said)),
            };
            names += further.len();
            if round == MAX_ROUNDS || names > MAX_NAMES || further.is_empty() {
                break;
            }
            looks.make(resolver, further).await;
        }
        Err(Unjudged::TooManyLookups { plugin })
    }

    /// The call as a case has it: what is null or empty is left out.
    fn input(&self, looks: &Lookups) -> Value {
        let input = Input::Judge { domain: self.domain.clone(), seen: looks.observations() };
        let context = self.context.clone();
        without_empty(Call { context, settings: None, input }.to_json())
    }

    fn gave_up(&self, call: &'static str, said: &Value) -> Unjudged {
        let (plugin, detail) = (self.plugin.to_owned(), said["failure"].to_string());
        CallFailure::GaveUp { plugin, call, detail }.into()
    }
}

/// Where a case is.
struct Files {
    folder: PathBuf,
    input: PathBuf,
    expected: PathBuf,
}

impl Files {
    fn of(subject: &Subject, case: &str) -> Self {
        let folder = subject.cases.join(case);
        let folder = folder.strip_prefix(".").map(Path::to_owned).unwrap_or(folder);
        Self { input: folder.join("input.json"), expected: folder.join("expected.json"), folder }
    }

    fn are_there(&self) -> bool {
        self.input.exists() || self.expected.exists()
    }

    fn write(&self, input: &Value, answer: &Value) -> Result<(), ToolError> {
        let bytes = format!("{input:#}\n").len();
        if u64::try_from(bytes).is_ok_and(|it| it > MAX_INPUT_BYTES) {
            return Err(RecordError::TooLarge { bytes }.into());
        }
        fs::create_dir_all(&self.folder).map_err(ToolError::write(&self.folder))?;
        write(&self.input, input)?;
        write(&self.expected, answer)
    }
}

fn context(host: &ToolHost) -> CallContext {
    CallContext {
        call_id: String::new(),
        now_unix_ms: host.clock.now().unsigned_millis(),
        locale: None,
        dry_run: false,
        extra: Vec::new(),
    }
}

fn lookup(requirement: Requirement) -> Lookup {
    let Requirement { id, name, record_type, .. } = requirement;
    Lookup { id, name, record_type }
}

fn without_empty(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let kept = members.into_iter().map(|(name, member)| (name, without_empty(member)));
            let is_empty = |it: &Value| it.is_null() || it.as_object().is_some_and(Map::is_empty);
            Value::Object(kept.filter(|(_, member)| !is_empty(member)).collect())
        }
        Value::Array(items) => items.into_iter().map(without_empty).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}

/// Each lookup with what became of its record, and where the case is.
fn lines(value: &Value, folder: &Path) -> String {
    let findings = value["answer"]["findings"].as_array().map(Vec::as_slice).unwrap_or_default();
    let line = |look: &Value| {
        let of_it = findings.iter().find(|it| it["requirementId"] == look["id"]);
        let status = of_it.map_or_else(|| "further".to_owned(), |it| text(it, "status"));
        let [outcome, kind, name] = ["outcome", "type", "name"].map(|field| text(look, field));
        format!("{status:<12}{outcome:<16}{kind:<6}{name}")
    };
    let looks = value["lookups"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut lines: Vec<String> = looks.iter().map(line).collect();
    lines.push(format!("{} is written; look at it before you keep it", folder.display()));
    lines.join("\n")
}

fn case_name(name: &str) -> Result<String, String> {
    let is_plain = |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'-' | b'_' | b'.');
    let is_name = (1..=MAX_CASE_NAME_CHARS).contains(&name.len())
        && name.bytes().all(is_plain)
        && !name.starts_with('.');
    if is_name {
        return Ok(name.to_owned());
    }
    Err(format!(
        "use 1 to {MAX_CASE_NAME_CHARS} letters, digits, `-`, `_` and `.`, not first a `.`"
    ))
}

fn name_server(text: &str) -> Result<NameServer, String> {
    NameServer::try_from(text.to_owned()).map_err(|error| error.to_string())
}

impl FromStr for Key {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.splitn(3, ':');
        let (Some(selector), Some(algorithm), Some(public)) =
            (parts.next(), parts.next(), parts.next())
        else {
            return Err("it is NAME:ALGORITHM:KEY, as in wx1r:rsa-sha256:MIIBIj…".to_owned());
        };
        if selector.is_empty() || public.is_empty() {
            return Err("the name or the key is empty".to_owned());
        }
        let known: Algorithm = algorithm.parse().map_err(|it| format!("{it}"))?;
        Ok(Self(DkimKey {
            selector: selector.to_owned(),
            public_key_base64: public.to_owned(),
            algorithm: known.as_str().to_owned(),
        }))
    }
}

#[cfg(test)]
mod tests;
