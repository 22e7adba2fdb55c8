"""Sends the message on standard input, or one that it makes with the file there, as the job in the
argument says."""

import json
import smtplib
import ssl
import sys
from email.message import EmailMessage
from email.policy import SMTP

job = json.loads(sys.argv[1])
context = ssl.create_default_context(cafile=job["ca"])
# The default since Python 3.13: certificates as RFC 5280 wants them.
context.verify_flags |= ssl.VERIFY_X509_STRICT

if job["implicit"]:
    client = smtplib.SMTP_SSL(job["host"], job["port"], timeout=100, context=context)
else:
    client = smtplib.SMTP(job["host"], job["port"], timeout=100)
    client.starttls(context=context)
with client:
    client.ehlo()
    client.user = client.password = job["key"]
    # login() would try PLAIN first, and LOGIN only after a failure.
    if job["mechanism"] == "LOGIN":
        client.auth("LOGIN", client.auth_login)
    else:
        client.login(job["key"], job["key"])
    if "compose" in job:
        parts = job["compose"]
        message = EmailMessage(policy=SMTP)
        message["From"], message["To"] = parts["from"], parts["to"]
        message["Bcc"] = "nobody-but-the-envelope@example.com"
        message["Subject"] = parts["subject"]
        message.set_content(parts["text"])
        message.add_attachment(
            sys.stdin.buffer.read(),
            maintype="application",
            subtype="octet-stream",
            filename=parts["filename"],
        )
        refused = [client.send_message(message, to_addrs=[parts["to"]])]
    else:
        options = ["BODY=8BITMIME"] + (["SMTPUTF8"] if job["utf8"] else [])
        raw = sys.stdin.buffer.read()
        refused = [client.sendmail(job["from"], to, raw, options) for to in job["envelopes"]]
    assert not any(refused), refused
