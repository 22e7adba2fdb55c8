//! lettre, of Rust: the one client that runs inside the tests.

use std::error::Error;
use std::fs;

use lettre::message::{Attachment, MultiPart, SinglePart, header::ContentType};
use lettre::transport::smtp::authentication::{Credentials, Mechanism};
use lettre::transport::smtp::client::{Certificate, Tls, TlsParameters};
use lettre::{Address, Message, SmtpTransport, Transport, address::Envelope};

use super::client::{Client, Composition, Endpoint, Letter, Port, Utf8};
use super::run::{BOUND, Said};

pub const LETTRE: Client = Client {
    name: "lettre",
    usable: |_| true,
    send,
    compose: Some(compose),
    send_each: None,
    denied: "permanent error (535)",
    distrusts: "UnknownIssuer",
    utf8: Utf8::Spoken,
    hops: 1,
};

fn send(endpoint: &Endpoint, letter: &Letter) -> Said {
    let address = |it: &String| it.parse::<Address>().expect("lettre takes the address");
    let to = letter.to.iter().map(address).collect();
    let envelope = Envelope::new(Some(address(&letter.from)), to).expect("an envelope");
    // It ends what it sends with a line break of its own.
    said(transport(endpoint).send_raw(&envelope, letter.open_ended()))
}

fn compose(endpoint: &Endpoint, composition: &Composition) -> Said {
    let Composition { from, to, subject, text, filename, file } = composition;
    let kind = ContentType::parse("application/octet-stream").expect("a content type");
    let file = Attachment::new(filename.clone()).body(file.clone(), kind);
    let parts = MultiPart::mixed().singlepart(SinglePart::plain(text.clone())).singlepart(file);
    let message = Message::builder()
        .from(from.parse().expect("an address"))
        .to(to.parse().expect("an address"))
        .subject(subject.clone())
        .multipart(parts)
        .expect("a message");
    said(transport(endpoint).send(&message))
}

fn transport(endpoint: &Endpoint) -> SmtpTransport {
    let mut tls = TlsParameters::builder(endpoint.host.clone());
    if let Some(ca) = &endpoint.ca_file {
        let ca = fs::read(ca).expect("the CA file can be read");
        tls = tls.add_root_certificate(Certificate::from_pem(&ca).expect("a certificate"));
    }
    let tls = tls.build().expect("settings for TLS");
    let (tls, mechanism) = match endpoint.port {
        Port::StartTls => (Tls::Required(tls), Mechanism::Plain),
        Port::Tls => (Tls::Wrapper(tls), Mechanism::Login),
    };
    SmtpTransport::builder_dangerous(&endpoint.host)
        .port(endpoint.number.parse().expect("a port is a number"))
        .tls(tls)
        .credentials(Credentials::new(endpoint.key.clone(), endpoint.key.clone()))
        .authentication(vec![mechanism])
        .timeout(Some(BOUND))
        .build()
}

fn said(
    sent: Result<lettre::transport::smtp::response::Response, lettre::transport::smtp::Error>,
) -> Said {
    match sent {
        Ok(response) => Said { ok: response.is_positive(), text: format!("{response:?}") },
        Err(error) => {
            let cause = error.source().map(ToString::to_string).unwrap_or_default();
            Said { ok: false, text: format!("{error}: {cause}") }
        }
    }
}
