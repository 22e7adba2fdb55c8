//! HTML that npm's mjml and React Email have made (`golden/imported`): it compiles, renders, and has the
//! text of what it shows.

use std::path::Path;

use super::*;

const DATA: &str = r#"{
    "name": "Ada & Co", "product_name": "Acme", "url": "https://a.test/x", "code": "481 902",
    "number": "7", "date": "1 May", "total": "5 €", "headline": "Summer", "photo": "https://a.test/p.png",
    "items": [{"name": "Pen", "price": "2 €"}, {"name": "Ink", "price": "3 €"}],
    "two": "b", "footer": "Bye", "share": "https://a.test/s"
}"#;

#[test]
fn html_of_other_tools_has_the_text_of_what_it_shows() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/imported");
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .expect("a folder")
        .map(|it| it.expect("a file").path())
        .filter(|it| it.extension().is_some_and(|it| it == "html"))
        .collect();
    files.sort();
    assert_eq!(files.len(), 7);
    for file in files {
        let read = |file: &Path| std::fs::read_to_string(file).expect("a text");
        let html = read(&file);
        let source = template(&[(Part::Html, &html)]);
        let text = body(&source, Part::Text, DATA);
        let html = body(&source, Part::Html, DATA);
        assert!(html.contains("<!--") && !html.contains("{{"), "{}", file.display());
        if std::env::var_os("WAXWING_WRITE").is_some() {
            std::fs::write(file.with_extension("txt"), &text).expect("written");
        }
        assert_eq!(text, read(&file.with_extension("txt")), "{}", file.display());
    }
}
