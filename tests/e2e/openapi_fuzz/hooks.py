"""What schemathesis does not know by itself: a component or a zip file is bytes like any others."""

import schemathesis

schemathesis.serializer.alias("application/wasm", "application/octet-stream")
schemathesis.serializer.alias("application/zip", "application/octet-stream")

OWN_KEY = "{own key}"


@schemathesis.hook
def before_call(context, case, kwargs):
    """With `force` the key of the requests would lose its rights, and all that follows be refused."""
    if (case.path_parameters or {}).get("key") == OWN_KEY:
        if str((case.query or {}).get("force", "")).lower() == "true":
            del case.query["force"]
    # In read-only mode all that follows would be refused.
    if case.operation.path == "/v1/maintenance" and isinstance(case.body, dict):
        if case.body.get("readOnly") is True:
            case.body["readOnly"] = False
