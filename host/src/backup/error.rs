//! Why a backup is not taken, or not restored. Each text says what to do.

use std::io;
use std::path::{Path, PathBuf};

use super::age::{DecryptError, KeyError};
use crate::store::StoreError;

#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Key(#[from] KeyError),
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    /// Another process takes one, or an order and the schedule meet.
    #[error("another backup of this data directory is being taken; wait until it has ended")]
    UnderWay,
    #[error(
        "a backup is encrypted to at least one recipient: give one with --recipient or in [backup] recipients; \
         `waxwing backup keygen` makes a pair of keys"
    )]
    NoRecipient,
    /// It opens nothing that is sealed, and would push one out that does.
    #[error(
        "the master key {path} cannot be read ({source}), and without it a backup is of no use; restore the file from an \
         earlier backup"
    )]
    NoMasterKey { path: PathBuf, source: io::Error },
    /// The backup would take the room that the server needs to accept mail.
    #[error(
        "while a backup is taken, {needed} bytes must be free on the disk of {path}, and {free} are; make room"
    )]
    Disk { path: PathBuf, needed: u64, free: u64 },
    #[error(
        "{name}: the copy is damaged, and so may be the database ({found}); the backup was not kept"
    )]
    DamagedCopy { name: String, found: String },
    /// The disk, or the object store, did not keep what was written.
    #[error("{place} does not give back what was written there; the backup was not kept")]
    NotKept { place: String },
    #[error("the backup {path} cannot be read: {source}")]
    Archive { path: PathBuf, source: ArchiveError },
    #[error("there is no backup in {place}: a file waxwing-….tar.gz.age")]
    NoBackup { place: String },
    #[error("`{to}` is neither a directory nor of the form s3://bucket/prefix")]
    Destination { to: String },
    #[error(
        "{to} is within {work}, which every backup removes at its end: name a directory elsewhere, better on another disk"
    )]
    WithinWork { to: PathBuf, work: PathBuf },
    #[error("the object store {place} refuses: {}", refusal(source))]
    ObjectStore { place: String, source: Box<object_store::Error> },
    #[error(
        "the work on the files of the backup was ended before it was done, and nothing of it is kept; begin again"
    )]
    Interrupted,
}

/// Why an archive is not what a backup is.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    #[error(transparent)]
    Decrypt(#[from] DecryptError),
    /// Also where its end is missing, or a part of it was changed.
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("it has no list of its members; it is no backup of Waxwing")]
    NoManifest,
    #[error("it is of the form {0}, which this version does not know; restore it with a newer one")]
    Form(u32),
    #[error("its member {0} is not what its list says")]
    Unequal(String),
    #[error("its member {0} is missing")]
    Missing(String),
    #[error("its member {0} does not stand in its list")]
    Unlisted(String),
    #[error("its member {0} has a name that leads out of the data directory")]
    Name(String),
}

impl BackupError {
    /// Adds the path to an error of the file system.
    pub fn at(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }
}

/// What an object store says in XML, by its code, and what to do about it; or what the driver says.
fn refusal(error: &object_store::Error) -> String {
    let text = error.to_string();
    let tagged = |tag: &str| {
        let (_, rest) = text.split_once(&format!("<{tag}>"))?;
        rest.split_once(&format!("</{tag}>")).map(|(inner, _)| inner)
    };
    let Some(code) = tagged("Code") else { return text };
    let advice = match code {
        "NoSuchBucket" => "; make the bucket, or put its name right, in s3://bucket/prefix",
        "AccessDenied" => "; allow the key to list, read, write and delete objects there",
        "InvalidAccessKeyId" | "SignatureDoesNotMatch" => {
            "; put the key right: backup.s3_access_key_id and backup.s3_secret_access_key_file, or AWS_ACCESS_KEY_ID and \
             AWS_SECRET_ACCESS_KEY"
        }
        _ => "",
    };
    format!("{code}: {}{advice}", tagged("Message").unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(said: &str) -> String {
        let (store, source) = ("S3", Box::from(said));
        let source = Box::new(object_store::Error::Generic { store, source });
        BackupError::ObjectStore { place: "s3://backups/one".to_owned(), source }.to_string()
    }

    #[test]
    fn what_an_object_store_refuses_is_told_without_xml_and_with_advice() {
        let xml = "404 Not Found: <?xml version=\"1.0\"?><Error><Code>NoSuchBucket</Code>\
                   <Message>The bucket does not exist</Message><Resource>/</Resource></Error>";
        assert_eq!(
            told(xml),
            "the object store s3://backups/one refuses: NoSuchBucket: The bucket does not exist; make the bucket, or put \
             its name right, in s3://bucket/prefix"
        );
        assert!(told("no route to host").ends_with("refuses: Generic S3 error: no route to host"));
    }
}
