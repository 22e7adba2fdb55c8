//! Messages as programs write them, byte for byte but for the line ends.

use super::*;

const NODEMAILER: &str = r#"X-Waxwing-Template: order-shipped
X-Waxwing-Data: =?UTF-8?Q?=7B=22name=22=3A=22Zo=C3=AB__M=C3=BCller?=
 =?UTF-8?Q?=22=2C=22items=22=3A=5B=7B=22t=22=3A=22a?=
 =?UTF-8?Q?_b=22=2C=22n=22=3A1=7D=2C=7B=22t=22=3A?=
 =?UTF-8?Q?=22c__d=22=2C=22n=22=3A2=7D=5D=2C=22note?=
 =?UTF-8?Q?=22=3A=22=C3=BCber_alles_in_der_Welt=2C_?=
 =?UTF-8?Q?und_noch_viel_mehr_Text=2C_der_gefaltet_?=
 =?UTF-8?Q?werden_mu=C3=9F=22=7D?=
X-Waxwing-Tag: orders
X-Waxwing-Tag: de
X-Waxwing-Metadata-Order: 4711
From: =?UTF-8?Q?Gr=C3=BC=C3=9Fe_GmbH?= <noreply@example.com>
To: ada@example.net
Reply-To: help@example.com
Subject: x
Message-ID: <88187aa4-063a-b57a-c16b-a9db68f4bb0d@example.com>
Date: Sat, 21 Nov 2026 19:19:53 +0000
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="--_NmP-49dbecf52624ef8a-Part_1"

----_NmP-49dbecf52624ef8a-Part_1
Content-Type: multipart/alternative;
 boundary="--_NmP-49dbecf52624ef8a-Part_2"

----_NmP-49dbecf52624ef8a-Part_2
Content-Type: text/plain; charset=utf-8
Content-Transfer-Encoding: 7bit

ignored
----_NmP-49dbecf52624ef8a-Part_2
Content-Type: multipart/related; type="text/html";
 boundary="--_NmP-49dbecf52624ef8a-Part_4"

----_NmP-49dbecf52624ef8a-Part_4
Content-Type: text/html; charset=utf-8
Content-Transfer-Encoding: 7bit

<b>ignored</b>
----_NmP-49dbecf52624ef8a-Part_4
Content-Type: image/png; name=logo.png
Content-ID: <logo@x>
Content-Transfer-Encoding: base64
Content-Disposition: inline; filename=logo.png

iVBORw0KGgo=
----_NmP-49dbecf52624ef8a-Part_4--

----_NmP-49dbecf52624ef8a-Part_2--

----_NmP-49dbecf52624ef8a-Part_1
Content-Type: application/pdf;
 name="=?UTF-8?Q?Rechnung_Gr=C3=B6=C3=9Fe=2Epdf?="
Content-Transfer-Encoding: base64
Content-Disposition: attachment;
 filename*0*=utf-8''Rechnung%20Gr%C3%B6%C3%9Fe.pdf

JVBERi0x
----_NmP-49dbecf52624ef8a-Part_1--

"#;

const PYTHON: &str = r#"From: =?utf-8?q?Gr=C3=BC=C3=9Fe?= GmbH <noreply@example.com>
To: ada@example.net
Subject: s
X-Waxwing-Template: order-shipped
X-Waxwing-Data: {"name": =?utf-8?b?Ilpvw6sgIE3DvGxsZXIiLA==?= "items": [{"t":
 "a b", "n": 1}, {"t": "c  d", "n": 2}], "note": =?utf-8?q?=22=C3=BCber?=
 alles in der Welt, und noch viel mehr Text, der gefaltet werden =?utf-8?q?m?=
 =?utf-8?b?dcOfIn0=?=
X-Waxwing-From-Name: =?utf-8?q?Gr=C3=BC=C3=9Fe?=
Content-Type: text/plain; charset="utf-8"
Content-Transfer-Encoding: 7bit
MIME-Version: 1.0

x

"#;

/// `EmailMessage`, the same JSON without spaces.
const PYTHON_COMPACT: &str = r"From: a@example.com
X-Waxwing-Template: t
X-Waxwing-Data: =?utf-8?b?eyJuYW1lIjoiWm/DqyAgTcO8bGxlciIsIml0ZW1zIjpbeyJ0?=
 =?utf-8?b?IjoiYSBiIiwibiI6MX0seyJ0IjoiYyAgZCIsIm4iOjJ9XSwibm90ZSI6IsO8YmVy?=
 alles in der Welt, und noch viel mehr Text, der gefaltet werden =?utf-8?q?m?=
 =?utf-8?b?dcOfIn0=?=

x
";

/// `MIMEText`, which encodes the whole value.
const PYTHON_OLD: &str = r#"Content-Type: text/plain; charset="us-ascii"
MIME-Version: 1.0
Content-Transfer-Encoding: 7bit
X-Waxwing-Template: t
From: =?utf-8?b?R3LDvMOfZQ==?= <a@example.com>
X-Waxwing-Data: =?utf-8?b?eyJuYW1lIjogIlpvw6sgIE3DvGxsZXIiLCAiaXRlbXMiOiBb?=
 =?utf-8?b?eyJ0IjogImEgYiIsICJuIjogMX0sIHsidCI6ICJjICBkIiwgIm4iOiAyfV0sICJu?=
 =?utf-8?b?b3RlIjogIsO8YmVyIGFsbGVzIGluIGRlciBXZWx0LCB1bmQgbm9jaCB2aWVsIG1l?=
 =?utf-8?b?aHIgVGV4dCwgZGVyIGdlZmFsdGV0IHdlcmRlbiBtdcOfIn0=?=

x
"#;

/// `add_attachment` of JSON and of a file, `add_related` of an image.
const PYTHON_PARTS: &str = r#"From: a@example.com
X-Waxwing-Template: t
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="===============1371962594777007649=="

--===============1371962594777007649==
Content-Type: multipart/alternative;
 boundary="===============0806382762213344425=="

--===============0806382762213344425==
Content-Type: text/plain; charset="utf-8"
Content-Transfer-Encoding: 7bit

text

--===============0806382762213344425==
MIME-Version: 1.0
Content-Type: multipart/related;
 boundary="===============7308164659252801737=="

--===============7308164659252801737==
Content-Type: text/html; charset="utf-8"
Content-Transfer-Encoding: 7bit

<p>x</p>

--===============7308164659252801737==
Content-Type: image/png
Content-Transfer-Encoding: base64
Content-ID: <logo>
MIME-Version: 1.0
Content-Disposition: inline

iVBORw==

--===============7308164659252801737==--

--===============0806382762213344425==--

--===============1371962594777007649==
Content-Type: application/pdf
Content-Transfer-Encoding: base64
Content-Disposition: attachment;
 filename*=utf-8''Rechnung%20Gr%C3%B6%C3%9Fe.pdf
MIME-Version: 1.0

JVBERg==

--===============1371962594777007649==
Content-Type: application/json
Content-Transfer-Encoding: base64
MIME-Version: 1.0
Content-Disposition: attachment

eyJuYW1lIjogIlpvXHUwMGViICBNXHUwMGZjbGxlciIsICJpdGVtcyI6IFt7InQiOiAiYSBiIiwg
Im4iOiAxfSwgeyJ0IjogImMgIGQiLCAibiI6IDJ9XSwgIm5vdGUiOiAiXHUwMGZjYmVyIGFsbGVz
IGluIGRlciBXZWx0LCB1bmQgbm9jaCB2aWVsIG1laHIgVGV4dCwgZGVyIGdlZmFsdGV0IHdlcmRl
biBtdVx1MDBkZiJ9

--===============1371962594777007649==--
"#;

const PHPMAILER: &str = r"Date: Sat, 21 Nov 2026 10:00:00 +0000
To: ada@example.net
From: WordPress <wordpress@example.com>
Reply-To: Ada <ada@example.net>
Subject: [Mein Blog] =?UTF-8?Q?Passwort_zur=C3=BCcksetzen?=
Message-ID: <CzvX3wGQ3lC1M2xKQw@example.com>
X-Mailer: PHPMailer 6.9.3 (https://github.com/PHPMailer/PHPMailer)
MIME-Version: 1.0
Content-Type: text/plain; charset=UTF-8
Content-Transfer-Encoding: 8bit

Jemand möchte das Passwort zurücksetzen.
";

const GITEA: &str = "Mime-Version: 1.0\nDate: Sat, 21 Nov 2026 10:00:00 +0000\nX-Auto-Response-Suppress: All\n\
    From: \"gitea@example.com\" <gitea@example.com>\nTo: ada@example.net\n\
    Subject: [org/repo] Fix the build (#12)\nMessage-ID: <org/repo/issues/12@example.com>\n\
    List-ID: org/repo <repo.org.example.com>\nContent-Type: multipart/alternative;\n \
    boundary=8c9a\n\n--8c9a\nContent-Type: text/plain\n\nx\n--8c9a--\n";

const OUTLOOK: &str = "From: \"Lovelace, Ada\" <ada@example.com>\nTo: \"'bob@example.org'\" <bob@example.org>\n\
    Subject: AW: Angebot\nDate: Sat, 21 Nov 2026 11:00:00 +0100\nMessage-ID: <000001db3bfe$0b@example.com>\n\
    MIME-Version: 1.0\nContent-Type: multipart/mixed;\n\tboundary=\"----=_NextPart_000_0001_01DB3C06.6D\"\n\
    X-Mailer: Microsoft Outlook 16.0\nContent-Language: de\nThread-Index: Ads7/gsAAA==\n\n\
    This is a multipart message in MIME format.\n\n------=_NextPart_000_0001_01DB3C06.6D--\n";

/// A printer: no name, no Message-ID, no Date.
const PRINTER: &str = "From: scanner@example.com <scanner@example.com>\nTo: ada@example.net\n\
    Subject: Scan\nMIME-Version: 1.0\nContent-Type: text/plain\n\nx\n";

fn variables() -> Value {
    json!({
        "name": "Zoë  Müller",
        "items": [{"t": "a b", "n": 1}, {"t": "c  d", "n": 2}],
        "note": "über alles in der Welt, und noch viel mehr Text, der gefaltet werden muß",
    })
}

#[test]
fn the_variables_arrive_from_every_library_unchanged() {
    for text in [NODEMAILER, PYTHON, PYTHON_COMPACT, PYTHON_OLD, PYTHON_PARTS] {
        let (_, filled) = filled(text);
        assert_eq!(Value::Object(filled.data.parsed()), variables(), "{text}");
    }
}

#[test]
fn nodemailer_sends_a_template_with_files() {
    let (submission, filled) = filled(NODEMAILER);
    assert_eq!(filled.template.as_str(), "order-shipped");
    assert_eq!(filled.from_name.as_deref(), Some("Grüße GmbH"));
    assert_eq!(filled.from.map(|it| it.to_string()).as_deref(), Some("noreply@example.com"));
    assert_eq!(filled.reply_to.map(|it| it.to_string()).as_deref(), Some("help@example.com"));
    assert_eq!(submission.tags, ["orders", "de"]);
    assert_eq!(Value::Object(submission.metadata), json!({"order": "4711"}));
    let files: Vec<_> = filled
        .attachments
        .iter()
        .map(|it| (it.filename.as_str(), it.content_type.as_str(), it.content_id.as_deref()))
        .collect();
    let expected = [
        ("logo.png", "image/png", Some("logo@x")),
        ("Rechnung Größe.pdf", "application/pdf", None),
    ];
    assert_eq!(files, expected);
    assert_eq!(filled.attachments[1].content, b"%PDF-1");
}

#[test]
fn python_sends_a_template_with_files() {
    let (_, filled) = filled(PYTHON_PARTS);
    let files: Vec<_> = filled
        .attachments
        .iter()
        .map(|it| (it.filename.as_str(), it.content_id.as_deref(), it.content.as_slice()))
        .collect();
    let expected =
        [("attachment-1", Some("logo"), &b"\x89PNG"[..]), ("Rechnung Größe.pdf", None, b"%PDF")];
    assert_eq!(files, expected);
}

#[test]
fn whole_messages_of_known_programs_are_relayed_unchanged() {
    for (text, author, subject) in [
        (PHPMAILER, "wordpress@example.com", "[Mein Blog] Passwort zurücksetzen"),
        (GITEA, "gitea@example.com", "[org/repo] Fix the build (#12)"),
        (OUTLOOK, "ada@example.com", "AW: Angebot"),
        (PRINTER, "scanner@example.com", "Scan"),
    ] {
        let (_, raw) = raw(text);
        assert_eq!(raw.message.author().to_string(), author);
        assert_eq!(raw.message.subject(), subject);
        let relayed = raw.message.relayed(crate::id::MessageId::new(NOW), NOW);
        let unchanged = text.replace('\n', "\r\n");
        assert!(relayed.ends_with(unchanged.as_bytes()), "{author}");
    }
}
