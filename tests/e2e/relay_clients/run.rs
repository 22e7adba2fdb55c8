//! Programs under a time-out, of which nothing stays behind.

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use waxwing_tests::until;

/// Far more than any of them needs, also on a busy machine.
pub const BOUND: Duration = Duration::from_mins(2);

/// How a program ended.
#[derive(Debug)]
pub struct Said {
    /// Whether it calls that a success.
    pub ok: bool,
    /// All that it has printed.
    pub text: String,
}

/// Runs a program to its end with this input.
///
/// # Panics
/// It does not start, or does not end in time.
pub fn run(command: &mut Command, input: &[u8]) -> Said {
    // Files, not pipes: nobody has to read while somebody else writes.
    let mut stdin = tempfile::tempfile().expect("a temporary file");
    stdin.write_all(input).and_then(|()| stdin.rewind()).expect("the input is written");
    let mut output = tempfile::tempfile().expect("a temporary file");
    let program = command.get_program().to_string_lossy().into_owned();
    command.stdin(stdin).stdout(same(&output)).stderr(same(&output)).process_group(0);
    let child = command.spawn();
    assert!(child.is_ok(), "{program} does not start: {child:?}");
    let mut running = Running(child.expect("it was started"));
    let status = until(&format!("{program} ends"), BOUND, || running.ended());
    let mut text = Vec::new();
    output.rewind().and_then(|()| output.read_to_end(&mut text)).expect("the output is read");
    Said { ok: status.success(), text: String::from_utf8_lossy(&text).into_owned() }
}

/// The leader of a process group; the group is killed when this is dropped.
pub struct Running(pub Child);

impl Running {
    /// How it ended, if it did.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.0.try_wait().expect("the process can be watched")
    }

    /// Sends a signal to the group.
    pub fn signal(&self, signal: &str) {
        let mut kill = Command::new("sh");
        kill.args(["-c", &format!("kill {signal} -- -{}", self.0.id())]).stderr(Stdio::null());
        // The group may be gone already, which is as well.
        drop(kill.status());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Ok(None) = self.0.try_wait() {
            self.signal("-KILL");
            drop(self.0.kill());
            drop(self.0.wait());
        }
    }
}

fn same(file: &File) -> File {
    file.try_clone().expect("a second handle")
}
