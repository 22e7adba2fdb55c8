use std::collections::BTreeMap;
use std::path::PathBuf;

use super::*;

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

struct Packed {
    directory: tempfile::TempDir,
    identity: Identity,
    manifest: Manifest,
}

impl Packed {
    /// An archive of two files, one of them large and in a directory; its list may be made wrong.
    fn new(change: impl FnOnce(&mut Manifest)) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let root = directory.path().join("members");
        std::fs::create_dir_all(root.join("plugins")).expect("made");
        let large: Vec<u8> = (0..=255).cycle().take(300_000).collect();
        std::fs::write(root.join("master.key"), "top secret").expect("written");
        std::fs::write(root.join("plugins/a.wasm"), large).expect("written");
        let members = ["master.key", "plugins/a.wasm"].map(|name| {
            let (bytes, sha256) =
                digest(&root.join(name), &CancellationToken::new()).expect("readable");
            Member { name: name.to_owned(), bytes, sha256 }
        });
        let (version, members) = ("1.2.3".to_owned(), members.to_vec());
        let mut manifest = Manifest { form: FORM, version, schema: 7, taken_at: NOW, members };
        change(&mut manifest);
        let identity = Identity::random().expect("made");
        let out = File::create(directory.path().join("archive")).expect("made");
        pack(&root, &manifest, out, &[identity.recipient()], &CancellationToken::new())
            .expect("packed");
        Self { directory, identity, manifest }
    }

    fn file(&self) -> PathBuf {
        self.directory.path().join("archive")
    }

    fn bytes(&self) -> Vec<u8> {
        std::fs::read(self.file()).expect("readable")
    }

    fn refused(&self) -> ArchiveError {
        verify(&self.file(), &self.identity, &CancellationToken::new()).expect_err("refused")
    }
}

#[test]
fn an_archive_gives_back_its_members_and_their_list() {
    let packed = Packed::new(|_| {});
    let mut found = BTreeMap::new();
    let manifest = read(&packed.file(), &packed.identity, &mut |name, content| {
        let mut bytes = Vec::new();
        content.read_to_end(&mut bytes)?;
        found.insert(name.to_owned(), bytes);
        Ok(())
    });
    assert_eq!(manifest.expect("whole"), packed.manifest);
    assert_eq!(found["master.key"], b"top secret");
    assert_eq!(found["plugins/a.wasm"].len(), 300_000);
}

#[test]
fn nothing_of_an_archive_can_be_read_without_an_identity() {
    let packed = Packed::new(|_| {});
    let bytes = packed.bytes();
    for text in ["master.key", "top secret", "a.wasm", MANIFEST, "1.2.3"] {
        let is_there = bytes.windows(text.len()).any(|it| it == text.as_bytes());
        assert!(!is_there, "{text} stands in the archive");
    }
    let other = Identity::random().expect("made");
    let refused = verify(&packed.file(), &other, &CancellationToken::new()).expect_err("refused");
    assert!(
        matches!(refused, ArchiveError::Decrypt(age::DecryptError::OtherRecipients)),
        "{refused}"
    );
}

#[test]
fn a_truncated_or_changed_archive_is_refused() {
    let packed = Packed::new(|_| {});
    let whole = packed.bytes();
    for length in [0, 10, whole.len() / 2, whole.len() - 1] {
        std::fs::write(packed.file(), &whole[..length]).expect("written");
        packed.refused();
    }
    for at in (0..whole.len()).step_by(whole.len() / 20) {
        let mut changed = whole.clone();
        changed[at] ^= 4;
        std::fs::write(packed.file(), &changed).expect("written");
        packed.refused();
    }
    std::fs::write(packed.file(), &whole).expect("written");
    verify(&packed.file(), &packed.identity, &CancellationToken::new()).expect("whole again");
}

#[test]
fn a_member_that_is_not_what_the_list_says_is_refused() {
    let digest = Packed::new(|it| it.members[0].sha256 = "0".repeat(64)).refused();
    assert!(matches!(digest, ArchiveError::Unequal(_)), "{digest}");
    let form = Packed::new(|it| it.form = FORM + 1).refused();
    assert!(matches!(form, ArchiveError::Form(2)), "{form}");
}

#[test]
fn a_member_stays_inside_of_the_data_directory() {
    for name in ["", "/etc/passwd", "../master.key", "plugins/../../x", "./x"] {
        assert!(!stays_inside(name), "{name}");
    }
    assert!(stays_inside("plugin-state/components/a"));
}
