"""Verifies messages with dkimpy: each signature against the records that stand beside it.

Reads [{"raw": base64, "txt": {name: value}}]; prints for each a list of its signatures, in their
order: {"domain", "selector", "algorithm", "ok", "why"}, and the domain of its From.
"""

import base64
import email.utils
import json
import sys

import dkim


def texts(records):
    def look_up(name, timeout=5):
        return records.get(name.decode().rstrip("."), "").encode()

    return look_up


def tags(value):
    pairs = (piece.split(b"=", 1) for piece in value.split(b";") if b"=" in piece)
    return {name.strip(): b"".join(value.split()).decode() for name, value in pairs}


def verified(message, records):
    fields, _ = dkim.rfc822_parse(message)
    signatures = [value for name, value in fields if name.lower() == b"dkim-signature"]
    found = []
    for index, signature in enumerate(signatures):
        told, why = tags(signature), ""
        try:
            # Each one by itself: a fresh object keeps nothing of the one before.
            ok = dkim.DKIM(message).verify(idx=index, dnsfunc=texts(records))
        except dkim.DKIMException as error:
            ok, why = False, repr(error)
        found.append(
            {
                "domain": told[b"d"],
                "selector": told[b"s"],
                "algorithm": told[b"a"],
                "covered": told[b"h"],
                "ok": ok,
                "why": why,
            }
        )
    author = [value for name, value in fields if name.lower() == b"from"][0].decode()
    return {"author": email.utils.parseaddr(author)[1].rsplit("@", 1)[1], "signatures": found}


json.dump(
    [verified(base64.b64decode(it["raw"]), it["txt"]) for it in json.load(sys.stdin)], sys.stdout
)
