//! Postfix as a relaying client: the mail server of a printer's or a company's network, which hands
//! on all its mail. Each letter has a private instance, with its own configuration, queue and
//! master process, and without any port: mail comes in through its `sendmail`.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

use tempfile::TempDir;
use waxwing_tests::until;
use waxwing_tools::Need;

use super::client::{Client, Endpoint, Letter, Port, Utf8};
use super::run::{BOUND, Running, Said, run};

pub const POSTFIX: Client = Client {
    name: "Postfix",
    usable: |unproven| Need::Postfix.is_met(unproven),
    send,
    compose: None,
    send_each: None,
    denied: "SASL authentication failed",
    distrusts: "certificate verification failed",
    utf8: Utf8::Spoken,
    hops: 2,
};

/// What Postfix is without the parts that take mail from a network or into a mailbox.
const MASTER: &str = "\
postlog unix-dgram n - n - 1 postlogd
pickup unix n - n 60 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
tlsmgr unix - - n 1000? 1 tlsmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
smtp unix - - n - - smtp
error unix - - n - - error
retry unix - - n - - error
";

/// Folders of the queue that only Postfix's own user may enter.
const OWN: [&str; 12] = [
    "data",
    "queue/active",
    "queue/bounce",
    "queue/corrupt",
    "queue/defer",
    "queue/deferred",
    "queue/flush",
    "queue/hold",
    "queue/incoming",
    "queue/private",
    "queue/saved",
    "queue/trace",
];

fn send(endpoint: &Endpoint, letter: &Letter) -> Said {
    let instance = Instance::start(endpoint);
    let queued = instance.take(letter);
    assert!(queued.ok, "Postfix takes the letter: {}", queued.text);
    let text = until("Postfix tries to relay the letter", BOUND, || {
        let log = instance.log();
        let tried = log.matches(", status=").count();
        // A letter that comes back to its sender is one more.
        (tried >= letter.to.len()).then_some(log)
    });
    let ok = text.matches(", status=sent (250 ").count() == letter.to.len();
    Said { ok, text }
}

/// A Postfix of its own; stopped when it is dropped.
struct Instance {
    // Before its folders, so that it ends before they go.
    master: Running,
    home: TempDir,
}

impl Instance {
    fn start(endpoint: &Endpoint) -> Self {
        let home = tempfile::tempdir().expect("a temporary directory");
        let path = home.path();
        // Its daemons run as a user of its own, who has to come through here.
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("it is ours");
        fs::create_dir(path.join("conf")).expect("a folder");
        for (name, text) in [("main.cf", settings(endpoint, path).as_str()), ("master.cf", MASTER)]
        {
            let mut file = File::create(path.join("conf").join(name)).expect("a file");
            file.write_all(text.as_bytes()).expect("it is written");
            // Postfix waits for a file that was just written: somebody might still be writing.
            file.set_modified(SystemTime::UNIX_EPOCH).expect("it is ours");
        }
        fs::create_dir_all(path.join("queue/pid")).expect("a folder");
        make(path, "0700", "root", &OWN);
        make(path, "0730", "postdrop", &["queue/maildrop"]);
        make(path, "0710", "postdrop", &["queue/public"]);
        let log = File::create(path.join("log")).expect("a file");
        let mut master = Command::new(daemons().join("master"));
        // It becomes the leader of its own group. Were these tests killed, it would end by itself.
        master.arg("-s").arg("-c").arg(path.join("conf"));
        master.args(["-e", &(2 * BOUND.as_secs()).to_string()]);
        let errors = log.try_clone().expect("a second handle");
        let child = master.stdin(Stdio::null()).stdout(log).stderr(errors).spawn();
        let instance = Self { master: Running(child.expect("Postfix starts")), home };
        until("Postfix has started", BOUND, || {
            instance.log().contains("daemon started").then_some(())
        });
        instance
    }

    /// Gives it a letter as a program of its machine would.
    fn take(&self, letter: &Letter) -> Said {
        let mut sendmail = Command::new("/usr/sbin/sendmail");
        sendmail.arg("-C").arg(self.home.path().join("conf"));
        sendmail.args(["-i", "-f", &letter.from, "--"]).args(&letter.to);
        run(&mut sendmail, &letter.raw)
    }

    fn log(&self) -> String {
        let log = fs::read(self.home.path().join("log")).expect("the log can be read");
        String::from_utf8_lossy(&log).into_owned()
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // Its children end with it.
        self.master.signal("-TERM");
    }
}

fn settings(endpoint: &Endpoint, home: &Path) -> String {
    let Endpoint { port, number, key, .. } = endpoint;
    let home = home.display();
    let wrapper = match port {
        Port::StartTls => "no",
        Port::Tls => "yes",
    };
    // By name: Postfix compares no addresses with a certificate.
    let relay = format!("[localhost]:{number}");
    format!(
        "compatibility_level = 3.6\n\
         queue_directory = {home}/queue\n\
         data_directory = {home}/data\n\
         maillog_file = /dev/stdout\n\
         myhostname = printer.example\n\
         mydestination =\n\
         inet_interfaces = loopback-only\n\
         inet_protocols = ipv4\n\
         smtp_host_lookup = native\n\
         alias_maps =\n\
         alias_database =\n\
         message_size_limit = 26214400\n\
         relayhost = {relay}\n\
         smtp_tls_security_level = secure\n\
         smtp_tls_wrappermode = {wrapper}\n\
         smtp_tls_CAfile = {}\n\
         smtp_sasl_auth_enable = yes\n\
         smtp_sasl_mechanism_filter = {}\n\
         smtp_sasl_security_options = noanonymous\n\
         smtp_sasl_password_maps = inline:{{{{{relay} = {key}:{key}}}}}\n",
        endpoint.ca().unwrap_or_default(),
        port.mechanism().to_lowercase(),
    )
}

fn make(home: &Path, mode: &str, group: &str, folders: &[&str]) {
    let mut install = Command::new("install");
    install.args(["-d", "-m", mode, "-o", "postfix", "-g", group]);
    let said = run(install.args(folders.iter().map(|it| home.join(it))), b"");
    assert!(said.ok, "{}", said.text);
}

fn daemons() -> PathBuf {
    let shown = run(Command::new("/usr/sbin/postconf").args(["-dh", "daemon_directory"]), b"");
    PathBuf::from(shown.text.trim())
}
