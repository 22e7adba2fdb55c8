"""Reads a message from standard input; prints what is in it, and all of its defects, as JSON."""

import base64
import collections
import datetime
import email
import email.policy
import json
import sys

message = email.message_from_bytes(sys.stdin.buffer.read(), policy=email.policy.default)
defects, parts = [], []


def walk(part, inside):
    defects.extend(repr(defect) for defect in part.defects)
    for name, value in part.items():
        defects.extend(f"{name}: {defect!r}" for defect in value.defects)
    found = {
        "type": part.get_content_type(),
        "inside": inside,
        "charset": part.get_content_charset(),
        "disposition": part.get_content_disposition(),
        "filename": part.get_filename(),
        "id": part["content-id"] and str(part["content-id"]).strip(),
    }
    parts.append(found)
    if part.is_multipart():
        for child in part.iter_parts():
            walk(child, part.get_content_type())
        return
    found["octets"] = base64.b64encode(part.get_payload(decode=True)).decode()
    if part.get_content_maintype() == "text":
        found["content"] = part.get_content(errors="strict")


walk(message, None)
sender = message["from"].addresses[0]
now = datetime.datetime.now(datetime.timezone.utc)
json.dump(
    {
        "defects": defects,
        "type": message.get_content_type(),
        "headers": {name.lower(): str(value) for name, value in message.items()},
        "counts": collections.Counter(name.lower() for name in message.keys()),
        "from": {"name": sender.display_name, "address": sender.addr_spec},
        "age": (now - message["date"].datetime).total_seconds(),
        "parts": parts,
    },
    sys.stdout,
)
