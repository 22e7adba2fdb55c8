//! Writes lines to a pipe or a socket that may not be read: a request, or the order to stop, must not wait for the reader
//! of the log. What finds no room is lost, and counted; what has room is written before the act that it tells goes on.

use std::io::{self, Write};
use std::mem;
use std::os::fd::AsFd;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, fstat};
use rustix::io::retry_on_intr;

/// How long the first line that finds no room waits for it; those behind it do not wait.
const PATIENCE: Duration = Duration::from_millis(100);
/// A pipe that has room takes 4,096 bytes without a wait (pipe(7)): so much of a line, and the end of one that was cut off.
const PART_BYTES: usize = 4095;

/// Lines to somebody who may not read them.
#[derive(Debug)]
pub struct Lines<W> {
    to: W,
    /// Whether this is a regular file: a write to a file never waits for a reader.
    is_file: bool,
    unread: Mutex<Unread>,
}

#[derive(Debug, Default)]
struct Unread {
    /// Lines that found no room since the last that did.
    lost: u64,
    /// Whether the last line has no end.
    is_cut: bool,
}

impl<W: AsFd> Lines<W> {
    pub fn to(to: W) -> Self {
        let is_file =
            fstat(&to).is_ok_and(|it| FileType::from_raw_mode(it.st_mode) == FileType::RegularFile);
        Self { to, is_file, unread: Mutex::default() }
    }

    /// Whether a write would not wait. True for a pipe that has lost its reader, too: the write then fails and says why.
    fn has_room(&self, patience: Duration) -> bool {
        let patience = Timespec::try_from(patience).ok();
        let ready =
            retry_on_intr(|| poll(&mut [PollFd::new(&self.to, PollFlags::OUT)], patience.as_ref()));
        ready != Ok(0)
    }

    /// How many lines were lost, where that can be told now.
    fn take_lost(&self) -> u64 {
        let mut unread = self.unread.lock().unwrap_or_else(PoisonError::into_inner);
        if unread.lost > 0 && self.has_room(Duration::ZERO) {
            mem::take(&mut unread.lost)
        } else {
            0
        }
    }
}

impl<W: AsFd> Write for &Lines<W>
where
    for<'a> &'a W: Write,
{
    /// Takes a whole line.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.is_file {
            return (&self.to).write_all(line).map(|()| line.len());
        }
        let lost = self.take_lost();
        if lost > 0 {
            // A line of its own, which comes here before this one.
            tracing::warn!(
                count = lost,
                "lines of the log were lost because nobody read standard error"
            );
        }
        let mut unread = self.unread.lock().unwrap_or_else(PoisonError::into_inner);
        for (index, part) in line.chunks(PART_BYTES).enumerate() {
            let patience = if unread.lost > 0 { Duration::ZERO } else { PATIENCE };
            if !self.has_room(patience) {
                unread.lost += 1;
                unread.is_cut |= index > 0;
                break;
            }
            if mem::take(&mut unread.is_cut) {
                (&self.to).write_all(&[b"\n", part].concat())?;
            } else {
                (&self.to).write_all(part)?;
            }
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        (&self.to).flush()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    /// Bytes that are more than a pipe holds.
    const MUCH: usize = 1 << 20;

    #[test]
    fn a_line_that_nobody_reads_is_lost_and_holds_nobody_up() {
        let (mut reader, writer) = io::pipe().expect("a pipe");
        let lines = Lines::to(writer);
        let whole = format!("{}\n", "x".repeat(99));
        for _ in 0..MUCH / whole.len() {
            (&lines).write_all(whole.as_bytes()).expect("it is not waited for");
        }
        let lost = lines.unread.lock().expect("no panic").lost;
        assert!(lost > 0, "they cannot all be in the pipe");
        assert_eq!(lines.take_lost(), 0, "nothing can be told yet");
        reader.read_exact(&mut [0; 2 * 4096]).expect("what was written first");
        assert_eq!(lines.take_lost(), lost, "there is room, so it is told");
        (&lines).write_all(b"after\n").expect("there is room");
        drop(lines);
        let mut rest = String::new();
        reader.read_to_string(&mut rest).expect("text");
        assert!(rest.ends_with("x\nafter\n"), "lines are whole, and the log goes on");
    }

    #[test]
    fn a_file_gets_every_line_whole() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let lines = Lines::to(file.reopen().expect("the file again"));
        let whole = format!("{}\n", "x".repeat(MUCH));
        for _ in 0..3 {
            (&lines).write_all(whole.as_bytes()).expect("there is room");
        }
        assert_eq!(std::fs::read_to_string(file).expect("text"), whole.repeat(3));
    }

    #[test]
    fn a_line_that_is_cut_off_does_not_spoil_the_next() {
        let (mut reader, writer) = io::pipe().expect("a pipe");
        let lines = Lines::to(writer);
        (&lines).write_all("x".repeat(MUCH).as_bytes()).expect("it is not waited for");
        reader.read_exact(&mut [0; 2 * 4096]).expect("what was written first");
        (&lines).write_all(b"after\n").expect("there is room");
        drop(lines);
        let mut rest = String::new();
        reader.read_to_string(&mut rest).expect("text");
        assert!(rest.ends_with("x\nafter\n"), "a line of its own");
    }
}
