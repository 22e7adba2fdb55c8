//! An MJML compiler that panics on `PANIC`, never comes back from `ENDLESS`, and takes memory for `GREEDY` until there is
//! no more. Of all other documents it gives the texts.

#[path = "../kit/mjml.rs"]
mod kit;

use waxwing_plugin::mjml_compiler::{Compiled, Document};
use waxwing_plugin::{CallContext, Diagnostic};

use kit::{MjmlCompiler, Plugin};

struct Guest;

impl Plugin for Guest {
    const NAME: &'static str = "poison-compiler";
}

impl MjmlCompiler for Guest {
    fn compile(_: &CallContext, document: &Document) -> Result<Compiled, Vec<Diagnostic>> {
        let source = document.source.as_str();
        assert!(!source.contains("PANIC"), "poisoned by the document");
        while source.contains("ENDLESS") {
            std::hint::black_box(source);
        }
        let mut taken = Vec::new();
        while source.contains("GREEDY") {
            taken.push(std::hint::black_box(vec![1_u8; 1 << 20]));
        }
        let texts: String =
            source.split('<').filter_map(|it| it.split_once('>')).map(|(_, text)| text).collect();
        let html = format!("<!doctype html><html lang=\"en\"><body><p>{texts}</p></body></html>");
        Ok(Compiled { html, preheader: None, warnings: Vec::new() })
    }
}

kit::export!(Guest);
