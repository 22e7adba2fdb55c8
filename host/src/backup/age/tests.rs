use super::*;

/// Made by another implementation (rage 0.11), with a stanza that nobody knows beside that of the recipient.
const FOREIGN: &str = "YWdlLWVuY3J5cHRpb24ub3JnL3YxCi0+IFgyNTUxOSBCYVpzN1hWM0pPNzFHWTZ6d040REJIeUkwS29Sc3FkaHBtZ1lyaFNrNjBVCnR1anVyYUlvYSs1U0RVc1U1eFZ3L1M4VWYySkFTY3doVUx4QWN0RDZKMFEKLT4gWkckLWdyZWFzZQpOT05LbWxkdXBITWYxUmlGUnFnbGp1MXVwMHdSUGJvR3FNK3pmeUt2Nnk1RFdwWDZKZVlQc1V6a0RPNzIycU45CjZPWjR5MHRYSkFWNkM2eVdkMjd0OXVMVzFJL1VtZ21BQy9yVzNRCi0tLSAvRE5hMXp0bzVhRkluZ2o3a09ZWDR4emRqTDZTUkxLSTd3VStqSE43d29FCk+6z7p9rn3qa9DOBhQsxdZoQeSUx6nBQmZtwJTKFS131jHGzvyZnDEEyieqRCVYVBPI3pxooubR6odzTcvJnkYV0io";
const IDENTITY: &str = "AGE-SECRET-KEY-167SASQ77VWCCZH7UFTUY5FQFR9E7CR7AUAP6WG97QNGJEUE579RQ2JG2PA";
const RECIPIENT: &str = "age1t5tys0zmkld4c9mjjychqxv3zdx9pxdtaaj0x3sx00fslrr5rclqm6vdx5";

fn encrypted(content: &[u8], recipients: &[Recipient]) -> Vec<u8> {
    let mut encryptor = encrypt(Vec::new(), recipients).expect("begun");
    encryptor.write_all(content).expect("written");
    encryptor.finish().expect("finished")
}

fn decrypted(file: &[u8], identity: &Identity) -> Result<Vec<u8>, DecryptError> {
    let mut content = Vec::new();
    decrypt(file, identity)?.read_to_end(&mut content)?;
    Ok(content)
}

#[test]
fn a_file_of_another_implementation_opens_with_its_identity() {
    let file = STANDARD_NO_PAD.decode(FOREIGN).expect("base64");
    let text = format!("# created: 2026-11-26\n# public key: {RECIPIENT}\n{IDENTITY}\n");
    let identity = Identity::of_file(&text).expect("an identity");
    assert_eq!(identity.recipient().to_string(), RECIPIENT);
    assert_eq!(identity.reveal(), IDENTITY);
    let again = identity.to_file(crate::clock::Timestamp::from_millis(0));
    assert_eq!(Identity::of_file(&again).expect("an identity").reveal(), IDENTITY);
    let recipients = [again, format!("# ours\n\n{RECIPIENT}\n")];
    for file in recipients {
        assert_eq!(Recipient::all_of_file(&file).expect("valid"), [identity.recipient()], "{file}");
    }
    let content = decrypted(&file, &identity).expect("opens");
    assert_eq!(content, b"waxwing reads what age has written\n");
}

#[test]
fn each_recipient_opens_what_was_encrypted_and_nobody_else() {
    let [one, two, other] = [(); 3].map(|()| Identity::random().expect("made"));
    for length in [0, 1, 65_535, 65_536, 65_537, 131_072, 200_000] {
        let content: Vec<u8> = (0..=250).cycle().take(length).collect();
        let file = encrypted(&content, &[one.recipient(), two.recipient()]);
        for identity in [&one, &two] {
            assert_eq!(decrypted(&file, identity).expect("opens"), content, "{length}");
        }
        let refused = decrypted(&file, &other);
        assert!(matches!(refused, Err(DecryptError::OtherRecipients)), "{refused:?}");
    }
}

#[test]
fn a_file_that_was_cut_off_or_changed_does_not_open() {
    let identity = Identity::random().expect("made");
    let file = encrypted(&vec![7; 150_000], &[identity.recipient()]);
    let payload = file.len() - 150_000 - 3 * 16;
    let chunk = 65_536 + 16;
    let ends = [0, 20, payload - 1, payload, payload + chunk, payload + 2 * chunk, file.len() - 1];
    for length in ends {
        let cut = &file[..length];
        assert!(decrypted(cut, &identity).is_err(), "{length} of {}", file.len());
    }
    let mut longer = file.clone();
    longer.push(0);
    assert!(decrypted(&longer, &identity).is_err(), "something stands behind its end");
    for at in [0, 30, 100, payload - 20, payload, payload + 70_000, file.len() - 1] {
        let mut changed = file.clone();
        changed[at] ^= 1;
        assert!(decrypted(&changed, &identity).is_err(), "octet {at}");
    }
}

/// Takes so many octets, and is full then.
struct Disk(usize);

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(self.0);
        self.0 -= taken;
        if taken == 0 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(taken) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_disk_that_is_full_ends_the_writing_and_not_the_process() {
    let identity = Identity::random().expect("made");
    let mut encryptor = encrypt(Disk(100_000), &[identity.recipient()]).expect("begun");
    let content = vec![7; 300_000];
    let refused = encryptor.write_all(&content).expect_err("the disk is full");
    assert_eq!(refused.kind(), io::ErrorKind::StorageFull);
    // As the writers above it do when they are dropped.
    drop(encryptor.write_all(&content));
    assert!(encryptor.finish().is_err());
}

#[test]
fn a_text_that_is_no_key_is_refused_and_a_secret_is_not_shown() {
    let identity = Identity::of_file(IDENTITY).expect("an identity");
    assert!(!format!("{identity:?}").contains("SECRET"), "{identity:?}");
    for wrong in ["", "age1", IDENTITY, &RECIPIENT.replace("6vdx5", "6vdx6")] {
        assert!(wrong.parse::<Recipient>().is_err(), "{wrong}");
    }
    for wrong in ["", "# nothing", RECIPIENT] {
        assert_eq!(Identity::of_file(wrong).err(), Some(KeyError::Identity), "{wrong}");
    }
}

#[test]
fn a_key_with_a_typing_error_is_told_as_such() {
    let mistyped = RECIPIENT.replace("6vdx5", "6vdx6");
    assert_eq!(mistyped.parse::<Recipient>(), Err(KeyError::MistypedRecipient));
    let file = Recipient::all_of_file(&format!("{RECIPIENT}\n{mistyped}\n"));
    assert_eq!(file, Err(KeyError::MistypedLine(2)));
    for other in ["age1yubikey1qwerty", "ssh-ed25519 AAAA", IDENTITY] {
        assert_eq!(other.parse::<Recipient>(), Err(KeyError::Recipient), "{other}");
    }
    let mistyped = IDENTITY.replace("2PA", "2PQ");
    assert_eq!(Identity::of_file(&mistyped).err(), Some(KeyError::MistypedIdentity));
}

#[test]
fn a_file_of_keys_is_read_as_a_whole_or_refused() {
    let known = RECIPIENT.parse::<Recipient>().expect("a recipient");
    let two = format!("{RECIPIENT}\n# a colleague\n{RECIPIENT}\n");
    assert_eq!(Recipient::all_of_file(&two), Ok(vec![known, known]));
    for wrong in ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5 ada", "agel5tys0zmkld4c9mjjychqxv3zd"] {
        let refused = Recipient::all_of_file(&format!("{RECIPIENT}\n{wrong}\n"));
        assert_eq!(refused, Err(KeyError::Line(2)), "{wrong}");
    }
    let several = format!("{IDENTITY}\n{IDENTITY}\n");
    assert_eq!(Identity::of_file(&several).err(), Some(KeyError::Identities));
}
