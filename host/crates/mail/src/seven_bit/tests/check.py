"""Reads messages before and after with Python's own parser. Run by python.rs."""

import base64
import email
import json
import sys


def leaves(raw):
    return [leaf(part) for part in email.message_from_bytes(raw).walk()]


def leaf(part):
    if part.is_multipart():
        added = ("content-transfer-encoding", "mime-version")
        return [it for it in part.items() if it[0].lower() not in added]
    return part.get_content_type(), part.get_payload(decode=True).rstrip(b"\r\n")


cases = json.load(sys.stdin)
for before, after in cases:
    before, after = base64.b64decode(before), base64.b64decode(after)
    if leaves(before) != leaves(after):
        print(before, after, leaves(before), leaves(after), sep="\n")
print(len(cases), "messages read")
