use super::*;

fn written(answer: &Answer) -> String {
    let mut output = Vec::new();
    answer.write(&mut output);
    String::from_utf8(output).expect("replies are ASCII")
}

#[test]
fn every_line_has_its_codes() {
    let lines = vec!["one".to_owned(), "two".to_owned()];
    let answer = Answer { reply: Reply::BadContent, lines };
    assert_eq!(written(&answer), "554-5.6.0 one\r\n554 5.6.0 two\r\n");
    assert_eq!(written(&Reply::Challenge.with("")), "334 \r\n");
    assert_eq!(written(&Reply::Bye.into()), "221 2.0.0 Bye\r\n");
}

#[test]
fn codes_and_enhanced_codes_agree() {
    for reply in Reply::ALL {
        let Some(enhanced) = reply.enhanced() else {
            assert!(matches!(reply.code(), 220 | 250 | 334 | 354), "{reply:?}");
            continue;
        };
        let class = (reply.code() / 100).to_string();
        assert_eq!(enhanced.split('.').next(), Some(class.as_str()), "{reply:?}");
        assert_eq!(enhanced.split('.').count(), 3, "{reply:?}");
    }
}

#[test]
fn every_usual_text_fits_into_its_line() {
    for reply in Reply::ALL {
        let line = written(&Answer::from(*reply));
        assert!(line.len() <= 200 && line.ends_with(&format!("{}\r\n", reply.text())), "{line}");
    }
}

#[test]
fn long_and_foreign_texts_are_cut_and_masked() {
    let line = written(&Reply::Forbidden.with(format!("ü\r\n\0{}", "a".repeat(600))));
    assert_eq!(line.len(), 512);
    assert!(line.starts_with("550 5.7.1 ????aaa") && line.ends_with("a...\r\n"), "{line}");
    let written_well = "“key”… isn’t 1–2\u{a0}long";
    assert_eq!(
        written(&Reply::Forbidden.with(written_well)),
        "550 5.7.1 \"key\"... isn't 1-2 long\r\n"
    );
    let fits = "a".repeat(512 - 2 - "550 5.7.1 ".len());
    assert!(written(&Reply::Forbidden.with(fits)).ends_with("aa\r\n"));
}
