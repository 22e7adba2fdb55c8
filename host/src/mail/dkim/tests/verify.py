"""Verifies signed messages with dkimpy, also after changes to them. Run by verifiers.rs."""

import base64
import collections
import json
import re
import sys

import dkim
import dkim.util
import nacl.signing  # noqa: F401 (dkimpy does without, and then fails late)

# Names that must not be added, though the message has none of them.
FROZEN = [
    "From", "Sender", "Reply-To", "To", "Cc", "Subject", "Date", "Message-ID", "In-Reply-To",
    "References", "MIME-Version", "Content-Type", "Content-Transfer-Encoding",
    "Content-Disposition",
]
TRACE = (
    b"Return-Path: <bounce@example.com>\r\n"
    b"Delivered-To: ada@example.net\r\n"
    b"Authentication-Results: mx.example.net;\r\n\tdkim=pass header.d=example.com\r\n"
    b"DKIM-Signature: v=1; a=rsa-sha256; d=example.net; s=x; h=from; bh=eA==; b=eA==\r\n"
    b"ARC-Seal: i=1; cv=none\r\n"
    b"Received: from a by b with ESMTPS\r\n\tid 1; Wed, 01 Jul 2026 00:00:00 +0000\r\n"
    b"X-Spam-Score: 0\r\n"
)


TAGS = {
    "time of the signature changed": (b" t=17", b" t=16"),
    "list of names changed": (b"h=from:", b"h="),
    "body read otherwise": (b"c=relaxed/relaxed", b"c=relaxed"),
}


def split(message):
    """The fields with their line ends, and the body; none where there is no empty line."""
    lines = message.split(b"\r\n")
    end = lines.index(b"")
    head = b"\r\n".join(lines[:end]) + b"\r\n"
    body = b"\r\n".join(lines[end + 1:]) if end + 1 < len(lines) else None
    return re.split(rb"(?<=\r\n)(?![ \t])", head)[:-1], body


def join(fields, body):
    return b"".join(fields) + (b"" if body is None else b"\r\n" + body)


def name_of(field):
    return field.partition(b":")[0].lower().decode()


def verdicts(message, case):
    """What dkimpy says of each of our signatures, by selector."""
    signed = dkim.DKIM(message)
    values = [value for name, value in signed.headers if name.lower() == b"dkim-signature"]
    found = {}
    for index, value in enumerate(values):
        tags = dkim.util.parse_tag_value(value)
        if tags[b"d"].decode() != case["domain"]:
            continue
        try:
            valid = signed.verify(index, dnsfunc=case["lookup"])
        except dkim.ValidationError:
            valid = False
        found[tags[b"s"].decode()] = valid
    return found


def value_change(pattern, replacement):
    """A change to the values of all fields, but not to the white space around them."""

    def change(fields, body):
        def one(field):
            name, _, value = field.partition(b":")
            inside = value.strip(b" \t\r\n")
            before, after = value.split(inside, 1) if inside else (value, b"")
            return name + b":" + before + re.sub(pattern, replacement, inside) + after

        return [one(field) for field in fields], body

    return change


def field_change(function):
    return lambda fields, body: ([function(field) for field in fields], body)


def body_change(function):
    return lambda fields, body: None if body is None else (fields, function(body))


TRANSIT_BODY = {
    "white space added at line ends": body_change(lambda it: it.replace(b"\r\n", b" \t\r\n")),
    "white space removed at line ends": body_change(lambda it: re.sub(rb"[ \t]+\r\n", b"\r\n", it)),
    "runs of white space made longer": body_change(lambda it: re.sub(rb"[ \t]+", b"\t  ", it)),
    "runs of white space made one": body_change(lambda it: re.sub(rb"[ \t]+", b" ", it)),
    "empty lines added": body_change(lambda it: it + b"\r\n\r\n"),
    "white space lines added": body_change(lambda it: it + b" \t\r\n\r\n \r\n"),
    "empty lines removed": body_change(
        lambda it: (it.rstrip(b" \t\r\n") + b"\r\n") if it.strip(b" \t\r\n") else b""
    ),
    "an empty line after the header": lambda fields, body: (fields, body or b""),
}
TRANSIT_HEADER = {
    "trace fields above": lambda fields, body: ([TRACE] + fields, body),
    "an unsigned field below": lambda fields, body: (fields + [b"X-Extra: x\r\n"], body),
    "unfolded": value_change(rb"\r\n(?=[ \t])", b""),
    "folded at all white space": value_change(rb"(?:\r\n)?[ \t]+(?:\r\n[ \t]+)*", b"\r\n\t"),
    "white space made longer": value_change(rb"[ \t]+(?!\r\n)", b" \t "),
    "white space at line ends": field_change(lambda it: it.replace(b"\r\n", b" \t\r\n")),
    "white space after the colon": field_change(lambda it: it.replace(b":", b":\t ", 1)),
    "none after the colon": field_change(lambda it: re.sub(rb"^([^:]*):[ \t]+(?=\S)", rb"\1:", it)),
    "names in upper case": field_change(
        lambda it: it.partition(b":")[0].upper() + b":" + it.partition(b":")[2]
    ),
    "sorted by name": lambda fields, body: (sorted(fields, key=name_of), body),
}


def altered(fields, body):
    """Changes that no signature may survive, with their names."""
    names = covered(fields)
    signed = [at for at, field in enumerate(fields) if name_of(field) in names]
    present = {name_of(fields[at]) for at in signed}
    if body is not None:
        text = re.search(rb"[^ \t\r\n]", body)
        if text:
            at = text.start()
            yield "octet changed", (fields, body[:at] + bytes([body[at] ^ 1]) + body[at + 1:])
            yield "white space inserted", (fields, body[:at + 1] + b" x" + body[at + 1:])
            yield "empty line inserted", (fields, b"\r\n" + body)
            yield "body removed", (fields, b"")
        yield "line added", (fields, body + b"x\r\n")
    for name in FROZEN + sorted(present):
        added = name.encode() + b": x@example.net\r\n"
        yield f"{name} added above", ([added] + fields, body)
        yield f"{name} added below", (fields + [added], body)
    for at in signed[:15]:
        name = name_of(fields[at])
        above, below = fields[:at], fields[at + 1:]
        yield f"{name} removed", (above + below, body)
        changed = fields[at][:-2] + b"x\r\n"
        yield f"{name} changed", (above + [changed] + below, body)
        renamed = b"X-" + fields[at]
        yield f"{name} renamed", (above + [renamed] + below, body)
        for other in signed:
            if other > at and name_of(fields[other]) == name:
                value = [b" ".join(fields[it].partition(b":")[2].split()) for it in (at, other)]
                if value[0] != value[1]:
                    swapped = list(fields)
                    swapped[at], swapped[other] = fields[other], fields[at]
                    yield f"{name} swapped", (swapped, body)
                break
    for what, (old, new) in TAGS.items():
        changed = [
            field.replace(old, new) if name_of(field) == "dkim-signature" else field
            for field in fields
        ]
        yield what, (changed, body)


def covered(fields):
    signature = next(it for it in fields if name_of(it) == "dkim-signature")
    names = re.search(rb"[ ;]h=([^;]*)", signature).group(1)
    return set(re.sub(rb"\s", b"", names).decode().split(":"))


def check(case, counts):
    fields, body = split(case["bytes"])

    def expect(what, changed, valid):
        if changed is None:
            return
        counts[what] += 1
        found = verdicts(join(*changed), case)
        if found != dict.fromkeys(case["records"], valid):
            print(f"{case['name']}: {what}: {found}")

    expect("as it is", (fields, body), True)
    thorough = case["changes"] == "all"
    for what, change in {**TRANSIT_BODY, **(TRANSIT_HEADER if thorough else {})}.items():
        expect(what, change(fields, body), True)
    for what, changed in altered(fields, body):
        if thorough or what in ("octet changed", "line added", "From added above"):
            expect(what, changed, False)


def main():
    given = json.load(sys.stdin)
    records = {
        f"{selector}._domainkey.{given['domain']}.".encode(): record.encode()
        for selector, record in given["records"].items()
    }
    counts = collections.Counter()
    for case in given["cases"]:
        case["bytes"] = base64.b64decode(case["message"])
        case.update(domain=given["domain"], records=given["records"])
        case["lookup"] = lambda name, timeout=5: records[name]
        check(case, counts)
    for what in [*TRANSIT_BODY, *TRANSIT_HEADER, "octet changed", "to swapped", "From added above"]:
        if not counts[what]:
            print("never tried:", what)
    print(len(given["cases"]), "messages verified")


main()
