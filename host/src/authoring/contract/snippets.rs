//! Code that sends a template, ready to run, with data that the template accepts.
//!
//! The key and the server are variables of the environment: a key that stands in code is soon in a repository.
//! Everything of the author's goes through the literals of the language: no text ends its quotes or becomes code.

pub mod literal;

use serde_json::{Map, Value, json};

use super::SenderContract;
use crate::template::source::TemplateSource;
use crate::template::trial::trial_data;
use literal::{GO, JAVASCRIPT, JSON, PHP, PYTHON, RUBY};

/// Bytes of an example that stands in code, as JSON; of a longer one only what a send must give does.
const MAX_EXAMPLE_BYTES: usize = 64 << 10;
const RECIPIENT: &str = "ada@example.com";

/// In what the code is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    Curl,
    Node,
    Python,
    Php,
    Ruby,
    Go,
    Smtp,
}

/// A program that sends one message.
#[derive(Debug)]
pub struct Snippet {
    pub language: Language,
    pub code: String,
}

/// Where the code sends to, unless its environment says something else.
#[derive(Debug, Clone, Default)]
pub struct Servers {
    /// `http://127.0.0.1:8080`
    pub http: String,
    /// `127.0.0.1:2587`
    pub smtp: String,
}

impl Language {
    pub const ALL: [Self; 7] =
        [Self::Curl, Self::Node, Self::Python, Self::Php, Self::Ruby, Self::Go, Self::Smtp];

    /// The word in queries and answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Curl => "curl",
            Self::Node => "node",
            Self::Python => "python",
            Self::Php => "php",
            Self::Ruby => "ruby",
            Self::Go => "go",
            Self::Smtp => "smtp",
        }
    }

    /// The language of that word.
    #[must_use]
    pub fn from_name(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == word)
    }

    /// What a person calls it.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Curl => "curl",
            Self::Node => "Node.js",
            Self::Python => "Python",
            Self::Php => "PHP",
            Self::Ruby => "Ruby",
            Self::Go => "Go",
            Self::Smtp => "SMTP (swaks)",
        }
    }

    /// A file for it.
    #[must_use]
    pub fn file(self) -> &'static str {
        match self {
            Self::Curl => "send.sh",
            Self::Node => "send.mjs",
            Self::Python => "send.py",
            Self::Php => "send.php",
            Self::Ruby => "send.rb",
            Self::Go => "send.go",
            Self::Smtp => "send-smtp.sh",
        }
    }

    /// What runs the file.
    #[must_use]
    pub fn command(self) -> &'static str {
        match self {
            Self::Curl => "sh send.sh",
            Self::Node => "node send.mjs",
            Self::Python => "python3 send.py",
            Self::Php => "php send.php",
            Self::Ruby => "ruby send.rb",
            Self::Go => "go run send.go",
            Self::Smtp => "sh send-smtp.sh",
        }
    }
}

impl SenderContract {
    /// The code in each of some languages.
    #[must_use]
    pub fn snippets(&self, languages: &[Language], servers: &Servers) -> Vec<Snippet> {
        let data = self.data_for_code();
        let message = json!({
            "to": RECIPIENT, "type": "EMAIL", "template": self.slug.as_str(), "data": data,
        });
        let sender = self.source.sender.as_ref().or(self.account_sender.as_ref());
        let sender = sender.map_or("you@example.com".to_owned(), ToString::to_string);
        let snippet = |language: &Language| {
            let base = servers.http.as_str();
            let code = match language {
                Language::Curl => curl(&message, base),
                Language::Node => node(&message, base),
                Language::Python => python(&message, base),
                Language::Php => php(&message, base),
                Language::Ruby => ruby(&message, base),
                Language::Go => go(&message, base),
                Language::Smtp => {
                    smtp(self.slug.as_str(), &Value::Object(data.clone()), &sender, &servers.smtp)
                }
            };
            Snippet { language: *language, code }
        };
        languages.iter().map(snippet).collect()
    }

    fn data_for_code(&self) -> Map<String, Value> {
        let sample = self.sample();
        if Value::Object(sample.clone()).to_string().len() <= MAX_EXAMPLE_BYTES {
            return sample;
        }
        let open = self.variables.iter().filter(|it| !self.is_offered(&it.path));
        trial_data(&TemplateSource::default(), open)
    }
}

fn curl(message: &Value, base: &str) -> String {
    let (body, base) = (JSON.literal(message, 0), in_shell_default(base));
    format!(
        r#"# WAXWING_API_KEY holds a key with the scope `send`.
curl --silent --show-error --fail-with-body "${{WAXWING_URL:-{base}}}/messages/send" \
  --header "x-api-key: $WAXWING_API_KEY" \
  --header 'content-type: application/json' \
  --data-binary @- <<'JSON'
{body}
JSON
"#
    )
}

fn smtp(slug: &str, data: &Value, sender: &str, server: &str) -> String {
    let (body, server) = (JSON.literal(data, 0), in_shell_default(server));
    let sender = in_shell_default(sender);
    format!(
        r#"# WAXWING_API_KEY holds a key with the scope `send`: it is user name and password.
# WAXWING_FROM is an address of a verified sender domain.
swaks --server "${{WAXWING_SMTP:-{server}}}" --tls --auth PLAIN \
  --auth-user "$WAXWING_API_KEY" --auth-password "$WAXWING_API_KEY" \
  --from "${{WAXWING_FROM:-{sender}}}" --to '{RECIPIENT}' \
  --header 'X-Waxwing-Template: {slug}' \
  --attach-type application/json --attach - <<'JSON'
{body}
JSON
"#
    )
}

fn node(message: &Value, base: &str) -> String {
    let (message, base) = (JAVASCRIPT.literal(message, 0), JAVASCRIPT.text(base));
    format!(
        r#"// WAXWING_API_KEY holds a key with the scope `send`. Node.js 18 or later.
const base = process.env.WAXWING_URL ?? {base};
const message = {message};

const response = await fetch(`${{base}}/messages/send`, {{
  method: "POST",
  headers: {{ "x-api-key": process.env.WAXWING_API_KEY, "content-type": "application/json" }},
  body: JSON.stringify(message),
}});
const answer = await response.json();
if (!response.ok) {{
  throw new Error(`${{answer.code}}: ${{answer.message}}`);
}}
console.log(answer.messageId);
"#
    )
}

fn python(message: &Value, base: &str) -> String {
    let (message, base) = (PYTHON.literal(message, 0), PYTHON.text(base));
    format!(
        r#"# WAXWING_API_KEY holds a key with the scope `send`.
import json
import os
import urllib.error
import urllib.request

message = {message}

request = urllib.request.Request(
    os.environ.get("WAXWING_URL", {base}) + "/messages/send",
    data=json.dumps(message).encode(),
    headers={{"x-api-key": os.environ["WAXWING_API_KEY"], "content-type": "application/json"}},
)
try:
    with urllib.request.urlopen(request) as response:
        print(json.load(response)["messageId"])
except urllib.error.HTTPError as error:
    raise SystemExit(error.read().decode())
"#
    )
}

fn php(message: &Value, base: &str) -> String {
    let (message, base) = (PHP.literal(message, 0), PHP.text(base));
    format!(
        r#"<?php
// WAXWING_API_KEY holds a key with the scope `send`. PHP 8 with the extension curl.
$message = {message};

$request = curl_init((getenv("WAXWING_URL") ?: {base}) . "/messages/send");
curl_setopt_array($request, [
    CURLOPT_POST => true,
    CURLOPT_RETURNTRANSFER => true,
    CURLOPT_HTTPHEADER => ["x-api-key: " . getenv("WAXWING_API_KEY"), "content-type: application/json"],
    CURLOPT_POSTFIELDS => json_encode($message, JSON_THROW_ON_ERROR),
]);
$answer = curl_exec($request);
if ($answer === false) {{
    throw new RuntimeException(curl_error($request));
}}
if (curl_getinfo($request, CURLINFO_RESPONSE_CODE) !== 201) {{
    throw new RuntimeException($answer);
}}
echo json_decode($answer)->messageId, "\n";
"#
    )
}

fn ruby(message: &Value, base: &str) -> String {
    let (message, base) = (RUBY.literal(message, 0), RUBY.text(base));
    format!(
        r#"# WAXWING_API_KEY holds a key with the scope `send`.
require "json"
require "net/http"

message = {message}

uri = URI(ENV.fetch("WAXWING_URL", {base}) + "/messages/send")
headers = {{ "x-api-key" => ENV.fetch("WAXWING_API_KEY"), "content-type" => "application/json" }}
answer = Net::HTTP.post(uri, JSON.generate(message), headers)
abort answer.body unless answer.is_a?(Net::HTTPSuccess)
puts JSON.parse(answer.body).fetch("messageId")
"#
    )
}

fn go(message: &Value, base: &str) -> String {
    let (message, base) = (GO.literal(message, 1), GO.text(base));
    format!(
        r#"// WAXWING_API_KEY holds a key with the scope `send`.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
)

func main() {{
	message := {message}

	body, err := json.Marshal(message)
	if err != nil {{
		log.Fatal(err)
	}}
	base := os.Getenv("WAXWING_URL")
	if base == "" {{
		base = {base}
	}}
	request, err := http.NewRequest(http.MethodPost, base+"/messages/send", bytes.NewReader(body))
	if err != nil {{
		log.Fatal(err)
	}}
	request.Header.Set("x-api-key", os.Getenv("WAXWING_API_KEY"))
	request.Header.Set("content-type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {{
		log.Fatal(err)
	}}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {{
		log.Fatal(err)
	}}
	if response.StatusCode != http.StatusCreated {{
		log.Fatal(string(answer))
	}}
	fmt.Println(string(answer))
}}
"#
    )
}

/// Within double quotes and `${NAME:-…}` of a shell.
fn in_shell_default(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars().filter(|c| !c.is_control()) {
        if matches!(c, '\\' | '"' | '$' | '`' | '}') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests;
