//! A file that is given up when it cannot be written: the writer of the zip file finishes where it is dropped, and would tell
//! of the same failure in words of its own.

use std::fs::File;
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Behind the first failure it takes everything and keeps nothing.
#[derive(Debug)]
pub struct UnfinishedFile {
    file: File,
    is_given_up: bool,
    position: u64,
    length: u64,
    written: Arc<AtomicU64>,
}

impl UnfinishedFile {
    /// An empty file, and how many bytes of it are written.
    pub fn new(file: File) -> (Self, Arc<AtomicU64>) {
        let written = Arc::<AtomicU64>::default();
        let told = Arc::clone(&written);
        (Self { file, is_given_up: false, position: 0, length: 0, written }, told)
    }

    /// Waits until it is on the disk.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }
}

impl Write for UnfinishedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = if self.is_given_up {
            bytes.len()
        } else {
            let is_tried_again = |error: &io::Error| error.kind() == ErrorKind::Interrupted;
            let written = self.file.write(bytes);
            self.is_given_up = written.as_ref().is_err_and(|error| !is_tried_again(error));
            written?
        };
        self.position = self.position.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
        self.length = self.length.max(self.position);
        if !self.is_given_up {
            self.written.store(self.length, Ordering::Relaxed);
        }
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.is_given_up { Ok(()) } else { self.file.flush() }
    }
}

impl Seek for UnfinishedFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.position = if self.is_given_up {
            let (from, by) = match to {
                SeekFrom::Start(position) => (position, 0),
                SeekFrom::Current(by) => (self.position, by),
                SeekFrom::End(by) => (self.length, by),
            };
            from.checked_add_signed(by).ok_or(ErrorKind::InvalidInput)?
        } else {
            self.file.seek(to)?
        };
        Ok(self.position)
    }
}

#[cfg(test)]
mod tests {
    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;

    #[test]
    fn a_writer_of_zip_files_finishes_quietly_once_its_disk_was_full() {
        let full = File::options().write(true).open("/dev/full").expect("there");
        let (file, written) = UnfinishedFile::new(full);
        let mut zip = ZipWriter::new(file);
        let options = SimpleFileOptions::default().large_file(true);
        let error = zip.start_file("a", options).expect_err("the disk is full");
        assert!(error.to_string().contains("No space left"), "{error}");
        assert_eq!(written.load(Ordering::Relaxed), 0);
        zip.finish().expect("nothing more is told");
    }

    #[test]
    fn a_file_on_a_disk_with_room_is_written_as_it_is() {
        let whole = tempfile::NamedTempFile::new().expect("made");
        let (mut file, written) = UnfinishedFile::new(whole.reopen().expect("open"));
        file.write_all(b"0123456789").expect("written");
        assert_eq!(file.seek(SeekFrom::Start(2)).expect("there"), 2);
        file.write_all(b"ab").expect("written");
        file.sync().expect("kept");
        assert_eq!(std::fs::read(whole.path()).expect("readable"), b"01ab456789");
        assert_eq!(written.load(Ordering::Relaxed), 10);
    }
}
