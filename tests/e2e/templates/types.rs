//! The types of templates' data: compilers take code that fits them, and refuse code that does not.

use std::fs;
use std::path::Path;
use std::process::Command;

use reqwest::Method;
use serde_json::{Value, json};
use waxwing_tests::Server;
use waxwing_tools::{node_packages, python};

use super::{api, create, publish};

/// A server with a template whose names and descriptions are hostile, beside the starters of `dev`.
async fn server() -> Server {
    let server = Server::dev();
    let draft = json!({
        "name": "2 */ } \" \\", "description": "\"\"\" # '''\nimport os \u{2028}",
        "subject": "{{ order.total | money: 'EUR' }}",
        "text": "{{ order['a \"b\" */'] }}{{ names['__proto__'] }}{{ names['constructor'] }}{{ names['`${x}`'] }}{{ names['-0'] }}{{ names['1e3'] }}\
                 {{ names['readonly x?: 1; }'] }}{{ names['ü\\'] }}{% if class %}{{ class }}{% endif %}{% for it in lines %}{{ it.name }}{% endfor %}",
        "variables": [
            {"path": "order.total", "format": "money", "description": "*/ In cents."}, {"path": "order", "type": "object"},
            {"path": "order.a \"b\" */", "type": "string"}, {"path": "class", "type": "boolean"},
            {"path": "lines", "type": "array"}, {"path": "lines[]", "type": "object"},
            {"path": "lines[].name", "type": "string"}, {"path": "names", "type": "object"},
            {"path": "names.__proto__", "type": "number"}, {"path": "names.constructor", "type": "number"},
            {"path": "names.`${x}`", "type": "number"}, {"path": "names.-0", "type": "number"},
            {"path": "names.1e3", "type": "number"}, {"path": "names.readonly x?: 1; }", "type": "number"},
            {"path": "names.ü\\", "type": "number"},
        ],
    });
    create(&server, "/v1/templates", "2-orders", draft).await;
    publish(&server, "/v1/templates/2-orders", json!({})).await;
    server
}

fn types(server: &Server, lang: &str) -> String {
    let local = ["template", "types", "--lang", lang, "--account", server.dev_output("accountId")];
    server.cli_text(&local)
}

const TYPESCRIPT: &str = r#"
import type { TemplateData, TemplateMessage, TemplateSlug } from "./templates";
const order: TemplateData["2-orders"] = {
  order: { total: 1299, "a \"b\" */": "x" }, lines: [{ name: "x" }], class: null,
  names: { "__proto__": 1, constructor: 1, "`${x}`": 1, "-0": 1, "1e3": 1, "readonly x?: 1; }": 1, "ü\\": 1 },
};
const slug: TemplateSlug = "verification-code";
export const message: TemplateMessage = { to: "a@example.com", type: "EMAIL", template: "2-orders", data: order };
export const other: TemplateMessage = { to: "a@example.com", type: "EMAIL", template: slug, data: { code: "1" } };
"#;

#[tokio::test]
async fn typescript_takes_data_that_fits_and_refuses_what_does_not() {
    let server = server().await;
    let (package, lock) =
        (include_str!("types/package.json"), include_str!("types/package-lock.json"));
    let installed =
        node_packages("template-types", package, lock, "types of templates for TypeScript");
    let Some(tools) = installed else { return };
    let folder = server.scratch("ts");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("templates.d.ts"), types(&server, "ts")).expect("written");
    let compile = |code: &str| {
        let mut tsc = Command::new("node");
        tsc.arg(tools.join("node_modules/typescript/bin/tsc"));
        tsc.args(["--strict", "--noEmit", "--target", "es2022", "--module", "nodenext", "send.ts"]);
        compiled(&folder, "send.ts", code, &mut tsc)
    };
    assert_eq!(compile(TYPESCRIPT), Ok(()));
    for (good, bad) in [
        ("total: 1299", "total: \"1299\""),
        ("{ name: \"x\" }", "{ nmae: \"x\" }"),
        ("class: null", "colour: 1"),
        ("constructor: 1", "konstructor: 1"),
        ("\"verification-code\"", "\"verification-cod\""),
        ("code: \"1\"", "code: 1"),
    ] {
        let code = TYPESCRIPT.replacen(good, bad, 1);
        assert!(code != TYPESCRIPT && compile(&code).is_err(), "{bad} is taken");
    }
}

const PYTHON: &str = r#"
from templates import T2OrdersData, TemplateData, TemplateSlug
order: T2OrdersData = {
    "order": {"total": 1299, "a \"b\" */": "x"}, "lines": [{"name": "x"}], "class": None,
    "names": {
        "__proto__": 1, "constructor": 1, "`${x}`": 1, "-0": 1, "1e3": 1, "readonly x?: 1; }": 1, "ü\\": 1,
    },
}
slug: TemplateSlug = "verification-code"
def code(all: TemplateData) -> str:
    return all["verification-code"]["code"]
"#;

#[tokio::test]
async fn mypy_takes_data_that_fits_and_refuses_what_does_not() {
    let server = server().await;
    let Some(python) = python("types of templates for Python") else { return };
    let folder = server.scratch("py");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("templates.py"), types(&server, "python")).expect("written");
    let compile = |code: &str| {
        let mut mypy = Command::new(&python);
        mypy.args(["-m", "mypy", "--strict", "--python-version", "3.11", "send.py"]);
        compiled(&folder, "send.py", code, &mut mypy)
    };
    assert_eq!(compile(PYTHON), Ok(()));
    for (good, bad) in [
        ("1299", "\"1299\""),
        ("\"name\": \"x\"", "\"nmae\": \"x\""),
        ("\"class\": None", "\"colour\": 1"),
        ("\"verification-code\"\n", "\"verification-cod\"\n"),
        ("-> str", "-> int"),
    ] {
        let code = PYTHON.replacen(good, bad, 1);
        assert!(code != PYTHON && compile(&code).is_err(), "{bad} is taken");
    }
}

#[tokio::test]
async fn types_are_the_same_from_the_store_and_from_a_running_server() {
    let server = server().await;
    for lang in ["ts", "python"] {
        let local = types(&server, lang);
        assert_eq!(local, types(&server, lang));
        let online = ["template", "types", "--lang", lang, "--key", server.key()];
        assert_eq!(server.cli_text(&online), local);
    }
    api(&server, Method::POST, "/v1/templates/2-orders/archive", &Value::Null).await;
    assert!(!types(&server, "ts").contains("2-orders"), "an archived template cannot be sent");
    let error = server.cli_fails(&["template", "types", "--lang", "cobol", "--key", server.key()]);
    assert!(error.contains("ts") && error.contains("python"), "{error}");
}

/// What the compiler says where it refuses.
fn compiled(folder: &Path, file: &str, code: &str, compiler: &mut Command) -> Result<(), String> {
    fs::write(folder.join(file), code).expect("written");
    let output = compiler.current_dir(folder).output().expect("the compiler starts");
    let said = [output.stdout, output.stderr].concat();
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&said).into_owned()) }
}
