use proptest::prelude::*;

use super::*;

#[test]
fn verbs_are_read_in_any_case_and_with_any_blanks() {
    assert_eq!(split_verb(b"QUIT"), Ok((Verb::Quit, &b""[..])));
    assert_eq!(split_verb(b"quit  "), Ok((Verb::Quit, &b""[..])));
    assert_eq!(split_verb(b"mAiL  FROM:<> "), Ok((Verb::Mail, &b"FROM:<>"[..])));
    for line in [&b""[..], b" QUIT", b"QUITE", b"QUIT\tnow", b"DATA\xc2\xa0", b"MAILFROM:<>"] {
        assert_eq!(split_verb(line), Err(Reply::UnknownCommand.into()), "{}", line.escape_ascii());
    }
}

#[test]
fn a_chunk_is_announced_by_octets_and_last() {
    let read = |text: &str| bdat::parse(text.as_bytes()).ok().map(|it| (it.octets, it.last));
    assert_eq!(read("0"), Some((0, bdat::Last::No)));
    assert_eq!(read("12  last"), Some((12, bdat::Last::Yes)));
    assert_eq!(read("18446744073709551616"), Some((u64::MAX, bdat::Last::No)));
    for text in ["", "LAST", "+1", "-1", "1 FIRST", "1 LAST LAST", "1\u{a0}LAST", "٣"] {
        assert_eq!(read(text), None, "{text}");
    }
}

proptest! {
    #[test]
    fn an_address_is_read_as_it_was_written(
        local in "[a-z]{1,8}|\"([a-z <>@,:]|\\\\[\"\\\\>]){1,8}\"",
        blanks in " {0,2}",
        route in "(@[a-z]{1,4}\\.example(,@[a-z]{1,4}\\.example)?:)?",
    ) {
        let address = format!("{local}@example.com");
        let line = format!("FROM:{blanks}<{route}{address}> SIZE=1");
        let read = mail::parse(line.as_bytes(), 10).map(|it| it.sender.map(|it| it.to_string()));
        prop_assert_eq!(read, Ok(Some(address)));
    }

    #[test]
    fn no_line_is_read_into_an_address_that_could_break_out(line in "FROM:<\\PC{0,40}>\\PC{0,20}") {
        if let Ok(mail::MailFrom { sender: Some(sender), utf8 }) = mail::parse(line.as_bytes(), 10) {
            let text = sender.to_string();
            prop_assert!(!text.chars().any(char::is_control));
            prop_assert!(utf8 || !sender.needs_smtputf8());
        }
    }
}
