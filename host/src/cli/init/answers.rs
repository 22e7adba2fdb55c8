//! What the configuration depends on: from flags, or asked for.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::{Args, ValueEnum};

use super::questions::Questions;
use crate::cli::error::CliError;
use crate::config::{Config, Hostname, NameServer};
use crate::dns::not_public;
use crate::domain::name::DomainName;
use crate::message::address::EmailAddress;
use crate::server::directory;
use crate::server::host_records;

/// The port of a smarthost where `--smarthost` names a host alone.
const SUBMISSION_PORT: u16 = 587;
/// `StateDirectory=` of the package's unit, which can write nowhere else.
const STATE_DIRECTORY: &str = "/var/lib/waxwing";

/// The answers that flags give.
#[derive(Debug, Clone, Args)]
pub struct Flags {
    /// The public name of this machine, as in mail.example.net
    #[arg(long)]
    pub hostname: Option<DomainName>,
    /// Where the certificate authority reaches you, as in ops@example.net
    #[arg(long)]
    pub email: Option<EmailAddress>,
    /// How messages leave
    #[arg(long)]
    pub route: Option<RouteArg>,
    /// The server that takes all mail, as in smtp.example.com:587
    #[arg(long, value_name = "HOST:PORT")]
    pub smarthost: Option<HostAndPort>,
    /// The user name there
    #[arg(long)]
    pub smarthost_user: Option<String>,
    /// The file with the password; by default smarthost.password beside the configuration
    #[arg(long, requires = "smarthost_user")]
    pub smarthost_password_file: Option<PathBuf>,
    /// A public address of this machine; several times for several. By default those that it sends from
    #[arg(long, value_parser = own_address)]
    pub address: Vec<IpAddr>,
    /// The data directory
    #[arg(long, default_value = "/var/lib/waxwing")]
    pub data_dir: PathBuf,
    /// A recursive name server, as in 127.0.0.1; several times for several. By default those of the system
    #[arg(long = "nameserver", value_parser = name_server)]
    pub nameservers: Vec<NameServer>,
    /// Agree to the terms of service of Let's Encrypt, which then issues the certificate
    #[arg(long)]
    pub agree_to_terms: bool,
}

/// How messages leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RouteArg {
    /// To the mail exchangers of the recipients
    Direct,
    /// Through one server that takes all mail
    Smarthost,
}

/// A server, and its port: 587 where none is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostAndPort {
    pub host: String,
    pub port: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a host name or an address with or without a port, as in smtp.example.com:587, 192.0.2.1 or [2001:db8::1]:587"
)]
pub struct InvalidHost(String);

/// The last labels of names that public DNS never has (RFC 6761, RFC 6762, RFC 9476, and what ICANN gives to nobody).
const PRIVATE_NAMES: [&str; 13] = [
    "alt",
    "arpa",
    "corp",
    "example",
    "home",
    "internal",
    "invalid",
    "lan",
    "local",
    "localdomain",
    "localhost",
    "onion",
    "test",
];

/// All answers.
#[derive(Debug)]
pub struct Answers {
    pub hostname: DomainName,
    pub email: EmailAddress,
    pub route: Route,
    pub addresses: Vec<IpAddr>,
    pub data_dir: PathBuf,
    pub nameservers: Vec<NameServer>,
    pub certificate: Certificate,
}

/// How messages leave.
#[derive(Debug)]
pub enum Route {
    Direct,
    Smarthost { server: HostAndPort, login: Option<Login> },
}

/// How the server logs in at a smarthost.
#[derive(Debug)]
pub struct Login {
    pub user: String,
    pub password_file: PathBuf,
}

/// Where the certificate comes from.
#[derive(Debug)]
pub enum Certificate {
    /// From Let's Encrypt, by the server itself.
    Acme,
    /// From the operator, as files in this directory.
    Files(PathBuf),
}

impl Certificate {
    /// The chain and its key, where the operator brings them.
    pub fn files(&self) -> Option<[PathBuf; 2]> {
        match self {
            Self::Acme => None,
            Self::Files(folder) => Some(["fullchain.pem", "privkey.pem"].map(|it| folder.join(it))),
        }
    }
}

impl Flags {
    /// Asks for what is missing.
    pub fn fill(&mut self, questions: &mut Questions<'_>) -> io::Result<()> {
        if self.hostname.is_none() {
            let question = "Public name of this machine, as in mail.example.net";
            self.hostname = Some(questions.ask(question, parsed)?);
        }
        if self.email.is_none() {
            let question = "Your e-mail address, for the certificate authority";
            self.email = Some(questions.ask(question, parsed)?);
        }
        if self.route.is_none() {
            let question =
                "How messages leave: direct (to the recipients' servers) or smarthost [direct]";
            self.route = Some(questions.ask(question, route)?);
        }
        if self.route == Some(RouteArg::Smarthost) && self.smarthost.is_none() {
            let question = "Smarthost, as in smtp.example.com:587";
            self.smarthost = Some(questions.ask(question, parsed)?);
            let question = "User name there (empty for none)";
            let user: String = questions.ask(question, parsed)?;
            self.smarthost_user = Some(user).filter(|it| !it.is_empty());
        }
        if self.addresses().is_empty() {
            let question = "Public IP address of this machine, which has only private ones";
            self.address.push(questions.ask(question, own_address)?);
        }
        if !self.agree_to_terms {
            let question = "Get certificates of Let's Encrypt, and agree to its terms of service \
                            (https://letsencrypt.org/repository/)?";
            self.agree_to_terms = questions.confirm(question)?;
        }
        Ok(())
    }

    fn addresses(&self) -> Vec<IpAddr> {
        if self.address.is_empty() {
            host_records::own_addresses(&Config::default())
        } else {
            self.address.clone()
        }
    }
}

impl Answers {
    /// The answers of flags, for a configuration in `file`; all flags that are missing are named at once.
    pub fn of(flags: Flags, file: &Path) -> Result<Self, CliError> {
        let addresses = flags.addresses();
        let needs_smarthost = flags.route == Some(RouteArg::Smarthost);
        let missing = [
            (flags.hostname.is_none(), "--hostname mail.example.net"),
            (flags.email.is_none(), "--email ops@example.net"),
            (flags.route.is_none(), "--route direct (or smarthost)"),
            (needs_smarthost && flags.smarthost.is_none(), "--smarthost smtp.example.com:587"),
            (addresses.is_empty(), "--address 192.0.2.25 (this machine has only private ones)"),
        ];
        let missing = missing.into_iter().filter(|(is_missing, _)| *is_missing);
        let missing: Vec<&str> = missing.map(|(_, flag)| flag).collect();
        let (Some(hostname), Some(email), Some(route), []) =
            (flags.hostname, flags.email, flags.route, missing.as_slice())
        else {
            return Err(CliError::Usage(format!("missing:\n  {}", missing.join("\n  "))));
        };
        let is_for_smarthost = flags.smarthost.is_some() || flags.smarthost_user.is_some();
        if route == RouteArg::Direct && is_for_smarthost {
            return Err(CliError::Usage(
                "with --route direct no server takes all mail: leave --smarthost, --smarthost-user and \
                 --smarthost-password-file out, or give --route smarthost"
                    .to_owned(),
            ));
        }
        // The server is started in a directory of its own.
        let absolute = |it: &Path| std::path::absolute(it).unwrap_or_else(|_| it.to_owned());
        let folder = absolute(directory::of_file(file));
        let login = flags.smarthost_user.map(|user| Login {
            user,
            password_file: flags
                .smarthost_password_file
                .unwrap_or_else(|| folder.join("smarthost.password")),
        });
        let route = match (route, flags.smarthost) {
            (RouteArg::Smarthost, Some(server)) => Route::Smarthost { server, login },
            (RouteArg::Direct, _) | (RouteArg::Smarthost, None) => Route::Direct,
        };
        let certificate = if flags.agree_to_terms {
            Certificate::Acme
        } else {
            Certificate::Files(folder.join("tls"))
        };
        Ok(Self {
            hostname,
            email,
            route,
            addresses,
            data_dir: absolute(&flags.data_dir),
            nameservers: flags.nameservers,
            certificate,
        })
    }

    /// What works in a closed network at most, or without the package's unit.
    pub fn doubts(&self) -> Vec<String> {
        let name = self.hostname.as_str();
        let is_private = name.rsplit('.').next().is_some_and(|it| PRIVATE_NAMES.contains(&it));
        let name = is_private.then(|| {
            format!(
                "public DNS never has the name {name}: give a name below a domain of yours, as in \
                 --hostname mail.example.net"
            )
        });
        let addresses = self.addresses.iter().filter_map(|address| {
            let why = not_public(*address)?;
            Some(format!(
                "the Internet does not reach {address} ({why}), which the records name: behind address translation \
                 give the public address as --address"
            ))
        });
        name.into_iter().chain(addresses).chain(self.doubt_of_data_dir()).collect()
    }

    /// What the package's unit needs to work with a directory of another place.
    fn doubt_of_data_dir(&self) -> Option<String> {
        let dir = self.data_dir.display();
        (!self.data_dir.starts_with(STATE_DIRECTORY)).then(|| {
            format!(
                "the service of the package can write below {STATE_DIRECTORY} alone. Before it starts, make the data directory \
                 (`install -d -o waxwing -g waxwing -m 0700 {dir}`), and add ReadWritePaths={dir} under [Service] by \
                 `systemctl edit waxwing`"
            )
        })
    }
}

impl FromStr for HostAndPort {
    type Err = InvalidHost;

    fn from_str(text: &str) -> Result<Self, InvalidHost> {
        let invalid = || InvalidHost(text.to_owned());
        let (host, port) = match text.parse::<SocketAddr>() {
            Ok(address) => (address.ip().to_string(), address.port()),
            Err(_) if text.parse::<Ipv6Addr>().is_ok() => (text.to_owned(), SUBMISSION_PORT),
            Err(_) => match text.rsplit_once(':') {
                Some((host, port)) => (host.to_owned(), port.parse().map_err(|_| invalid())?),
                None => (text.to_owned(), SUBMISSION_PORT),
            },
        };
        let is_host = match host.parse::<IpAddr>() {
            Ok(address) => is_of_one_machine(address),
            Err(_) => host.parse::<Hostname>().is_ok(),
        };
        if port == 0 || !is_host { Err(invalid()) } else { Ok(Self { host, port }) }
    }
}

/// Whether a machine can have this address.
fn is_of_one_machine(address: IpAddr) -> bool {
    let is_broadcast = matches!(address, IpAddr::V4(it) if it.is_broadcast());
    !address.is_unspecified() && !address.is_multicast() && !is_broadcast
}

/// An address that a record can name for others.
fn own_address(text: &str) -> Result<IpAddr, String> {
    let address: IpAddr = parsed(text)?;
    if !is_of_one_machine(address) || address.is_loopback() {
        return Err(format!(
            "{address} leads no other machine to this one; give its public address, as in 192.0.2.25"
        ));
    }
    Ok(address)
}

/// An empty answer takes the default that the question shows.
fn route(text: &str) -> Result<RouteArg, String> {
    if text.is_empty() {
        return Ok(RouteArg::Direct);
    }
    RouteArg::from_str(text, true).map_err(|_| format!("{text:?} is neither direct nor smarthost"))
}

fn parsed<T: FromStr<Err: fmt::Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: T::Err| error.to_string())
}

fn name_server(text: &str) -> Result<NameServer, String> {
    NameServer::try_from(text.to_owned()).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests;
