"""Verifies requests with the official library; prints "verified", or why not."""

import json
import sys

from standardwebhooks.webhooks import Webhook


def verified(request):
    try:
        Webhook(request["secret"]).verify(request["body"], request["headers"])
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "verified"


print(json.dumps([verified(request) for request in json.load(sys.stdin)]))
