//! Clients that take every connection of a cluster which is free, and use none: as a pool of another program that has no
//! bound.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Version 3.0 of the protocol.
const PROTOCOL: u32 = 3 << 16;
/// Until the next one tries.
const PAUSE: Duration = Duration::from_millis(2);

/// They go when this is dropped.
#[derive(Debug)]
pub struct Greedy {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Greedy {
    pub(super) fn start(socket: PathBuf, user: &'static str) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        let thread = thread::spawn(move || {
            let mut taken = Vec::new();
            while !over.load(Ordering::Relaxed) {
                match connect(&socket, user) {
                    Ok(connection) => taken.push(connection),
                    Err(_) => thread::sleep(PAUSE),
                }
            }
        });
        Self { is_over, thread: Some(thread) }
    }
}

impl Drop for Greedy {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been printed; a second one would abort the test.
            drop(thread.join());
        }
    }
}

/// A session that may ask something.
fn connect(socket: &Path, user: &str) -> io::Result<UnixStream> {
    let mut connection = UnixStream::connect(socket)?;
    let parameters = format!("user\0{user}\0database\0postgres\0\0");
    let length = u32::try_from(8 + parameters.len()).map_err(io::Error::other)?;
    connection.write_all(&length.to_be_bytes())?;
    connection.write_all(&PROTOCOL.to_be_bytes())?;
    connection.write_all(parameters.as_bytes())?;
    loop {
        let (mut kind, mut length) = ([0; 1], [0; 4]);
        connection.read_exact(&mut kind)?;
        connection.read_exact(&mut length)?;
        let length = usize::try_from(u32::from_be_bytes(length)).map_err(io::Error::other)?;
        connection.read_exact(&mut vec![0; length.saturating_sub(4)])?;
        match kind {
            // It is ready for a question.
            [b'Z'] => return Ok(connection),
            // Such as: too many clients already.
            [b'E'] => return Err(io::ErrorKind::ConnectionRefused.into()),
            _ => {}
        }
    }
}
