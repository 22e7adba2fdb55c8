"""Reads composed messages with Python's own parser. Run by python.rs."""

import base64
import email
import email.header
import email.policy
import email.utils
import json
import sys


def check(case):
    raw = base64.b64decode(case["message"])
    message = email.message_from_bytes(raw, policy=email.policy.default)
    for part in message.walk():
        assert not part.defects, (part.get_content_type(), part.defects)
        for name, value in part.items():
            assert not value.defects, (name, value, value.defects)
    assert message["Subject"] == case["text"], message["Subject"]
    assert message["X-Campaign"] == case["text"], message["X-Campaign"]
    (sender,) = message["From"].addresses
    assert sender.addr_spec == "shop@example.com", sender
    # `display_name` keeps the space between two encoded words, which RFC 2047 section 6.2 drops;
    # the older parser reads them right.
    assert "".join(sender.display_name.split()) == "".join(case["text"].split()), sender
    unfolded = email.message_from_bytes(raw)["From"].replace("\r\n", "")
    name = email.header.decode_header(email.utils.parseaddr(unfolded)[0])
    assert str(email.header.make_header(name)) == case["text"], name
    assert message["Message-ID"] == "<01JCZ0@example.com>"
    assert message["Date"].datetime.isoformat() == "2026-11-21T10:00:00+00:00"
    assert message["Bcc"] is None
    for kind in ("plain", "html"):
        body = message.get_body((kind,)).get_content().replace("\r\n", "\n")
        assert body.rstrip("\n") == case["body"], (kind, body)
    files = {part.get_filename(): part for part in message.walk() if part.get_filename()}
    assert list(sorted(files)) == sorted(name for name, _, _ in case["files"]), list(files)
    for name, content, content_id in case["files"]:
        part = files[name]
        assert part.get_payload(decode=True) == base64.b64decode(content), name
        expected = content_id and "<%s>" % content_id
        assert part["Content-ID"] == expected, part["Content-ID"]
        assert part.get_content_disposition() == ("inline" if content_id else "attachment")


cases = json.load(sys.stdin)
for case in cases:
    try:
        check(case)
    except Exception as error:
        print(case["text"], "|", type(error).__name__, error)
print(len(cases), "messages read")
