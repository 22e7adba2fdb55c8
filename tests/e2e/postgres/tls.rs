//! Sessions with PostgreSQL are encrypted, and its certificate is verified.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use waxwing_tests::{Launch, Server};
use waxwing_tools::{Cluster, Need};

use super::{assert_delivers, refused_start};

/// An authority with one certificate, as files.
struct Authority {
    folder: PathBuf,
}

impl Authority {
    fn new(folder: PathBuf, address: &str) -> Self {
        fs::create_dir(&folder).expect("a folder");
        let names = format!("subjectAltName=IP:{address}");
        let extensions = format!("{names}\nbasicConstraints=critical,CA:FALSE\n");
        fs::write(folder.join("extensions"), extensions).expect("written");
        let authority = Self { folder };
        let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
        authority.openssl(&format!(
            "req -x509 {key} -days 2 -subj /CN=authority -keyout authority.key -out authority.pem"
        ));
        let request = format!("req {key} -subj /CN=database -keyout key.pem -out request.pem");
        authority.openssl(&request);
        authority.openssl(
            "x509 -req -in request.pem -CA authority.pem -CAkey authority.key -CAcreateserial \
             -days 2 -extfile extensions -out certificate.pem",
        );
        authority
    }

    fn openssl(&self, arguments: &str) {
        let mut openssl = Command::new("openssl");
        openssl.args(arguments.split_whitespace()).current_dir(&self.folder);
        let made = openssl.output().expect("it runs");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

fn verified(url: &str, authority: &Path) -> String {
    format!("{url}?sslmode=verify-full&sslrootcert={}", authority.display())
}

#[tokio::test]
async fn sessions_with_the_database_are_encrypted_and_its_name_is_verified() {
    let unproven = "TLS to PostgreSQL";
    if !Need::OpenSsl.is_met(unproven) {
        return;
    }
    let Some((cluster, address)) = Cluster::on_loopback(unproven) else { return };
    let home = tempfile::tempdir().expect("a folder");
    let authority = Authority::new(home.path().join("own"), &address);
    let other = Authority::new(home.path().join("other"), &address);
    cluster.demand_tls(&authority.file("certificate.pem"), &authority.file("key.pem"));
    drop(cluster.create("encrypted"));
    let url = Cluster::url_at(&address, "encrypted");

    for (store, why) in [
        (verified(&url, &other.file("authority.pem")), "of another authority"),
        (format!("{url}?sslmode=disable"), "without TLS"),
    ] {
        let said = refused_start(&home.path().join("data"), &store);
        assert!(said.contains("cannot be reached"), "{why}: {said}");
    }
    let store = verified(&url, &authority.file("authority.pem"));
    let server = Server::start(Launch::dev().with("store", "url", &store));
    assert_delivers(&server, "ada@example.com").await;
    let plain = "SELECT count(*) FILTER (WHERE NOT s.ssl) || ' of ' || (count(*) > 0)
        FROM pg_stat_activity a JOIN pg_stat_ssl s USING (pid) WHERE a.application_name = 'waxwing'";
    assert_eq!(cluster.run("encrypted", plain), "0 of true", "every session is encrypted");
}
