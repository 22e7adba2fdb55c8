//! The MJML compiler as a component: within its limits, in a slot of its own, and never asked for a send.

use super::fixture::{PluginHost, TestDirs, candidate, marked};
use super::{ANYBODY, plugins, still_renders};
use crate::plugin::kinds::mjml::{Compiled, Document};
use crate::plugin::promotion::builtin;
use crate::plugin::promotion::error::LoadError;
use crate::plugin::runtime::bindings::types::{Diagnostic, Pair, Severity};
use crate::plugin::runtime::error::CallFailure;
use crate::plugin::runtime::kind::Kind;
use crate::plugin::runtime::limits::Limits;
use crate::plugin::{Options, Plugins};

const SLOT: &str = "mjml";
const BUILT_IN: &str = "waxwing-mjml-compiler";

async fn compile(
    plugins: &Plugins,
    column: &str,
) -> Result<Result<Compiled, Vec<Diagnostic>>, CallFailure> {
    let source = format!(
        "<mjml><mj-head><mj-preview>Hi {{{{ name }}}}</mj-preview></mj-head><mj-body><mj-section>\
         <mj-column>\n{column}</mj-column></mj-section></mj-body></mjml>"
    );
    let footer =
        Pair { key: "footer".to_owned(), value: "<mj-text>{{ company }}</mj-text>".to_owned() };
    let document = Document { source, includes: vec![footer] };
    let context = plugins.context("publish".to_owned());
    plugins.table().compile_mjml(&ANYBODY, &context, &document).await
}

#[tokio::test]
async fn mjml_becomes_html_with_its_liquid_its_preheader_and_its_warnings() {
    let plugins = plugins(Limits::default()).await;
    let column = "<mj-text colour=\"red\">{{ name | append: \"<\" }}</mj-text><mj-include path=\"footer\" />";
    let compiled = compile(&plugins, column).await.expect("answered").expect("it is good");
    for part in ["{{ name | append: \"<\" }}", "{{ company }}", "<!doctype html>"] {
        assert!(compiled.html.contains(part), "{part}: {}", compiled.html);
    }
    assert_eq!(compiled.preheader.as_deref(), Some("Hi {{ name }}"));
    let warning = &compiled.warnings[0];
    assert_eq!((warning.line, warning.column, warning.severity), (2, 10, Severity::Warning));

    let faults = compile(&plugins, "<mj-txt>x</mj-txt>").await.expect("answered");
    let faults = faults.expect_err("there is no such element");
    assert_eq!((faults[0].code.as_str(), faults[0].line), ("unknown_element", 2));
    assert_eq!(faults[0].part.as_deref(), Some("mjml"));
}

#[tokio::test]
async fn mjml_that_is_too_deep_or_too_much_work_is_refused() {
    let plugins = plugins(Limits::default()).await;
    let nested = |depth: usize| {
        format!("<mj-text>{}x{}</mj-text>", "<div>".repeat(depth), "</div>".repeat(depth))
    };
    // As deep as the compiler lets pass, with a guest's stack.
    compile(&plugins, &nested(95)).await.expect("answered").expect("it is not too deep");
    let faults = compile(&plugins, &nested(5_000)).await.expect("answered");
    assert_eq!(faults.expect_err("too deep")[0].code, "too_deep");

    let mut limits = Limits::default();
    limits.renderer.memory_bytes = 2 << 20;
    let dirs = TestDirs::new();
    let small =
        PluginHost::start_with_calls(Options { limits, ..dirs.options() }, Vec::new()).await;
    for _ in 0..4 {
        let failure = compile(&small.plugins, &"<mj-spacer />".repeat(20_000)).await;
        let limit = failure.expect_err("too much").limit().expect("a limit");
        assert!(limit.starts_with("plugins.limits.renderer.memory_bytes is "), "{limit}");
    }
    // Nobody is rolled back, and nothing in quarantine, for what a document costs.
    compile(&small.plugins, "<mj-text>x</mj-text>").await.expect("answered").expect("good");
    let table = small.plugins.table();
    assert_eq!(table.serving(Kind::Mjml, &ANYBODY).stats().inputs_in_quarantine(), 0);
    still_renders(&plugins).await;
}

#[tokio::test]
async fn a_file_replaces_the_compiler_and_only_a_compiler_may() {
    let dirs = TestDirs::new();
    let host = PluginHost::start(&dirs).await;
    host.built_in(SLOT).await;
    dirs.put("mjml.wasm", marked(builtin::MJML_COMPILER, "another build"));
    let live = host.live(SLOT, BUILT_IN).await;
    compile(&host.plugins, "<mj-text>x</mj-text>").await.expect("answered").expect("good");
    assert_eq!(live.stats().calls(), 1);
    dirs.remove("mjml.wasm");
    host.built_in(SLOT).await;
    dirs.put("mjml.wasm", builtin::LIQUID_RENDERER);
    let why = host.refused(SLOT, "MJML compiler").await;
    assert!(why.contains("template renderer"), "{why}");

    // In a slot of any other name it compiles too, and renders nothing: it exports no renderer.
    let other = candidate("other", Some(builtin::MJML_COMPILER.to_vec()), "kind = 'renderer'");
    let refused = host.plugins.try_out(&other).await.expect_err("it is no renderer");
    assert!(
        matches!(refused, LoadError::WrongKind { wanted: Kind::Renderer, found: Kind::Mjml }),
        "{refused}"
    );
    still_renders(&host.plugins).await;
}
