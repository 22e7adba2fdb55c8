"""What schemathesis does not know by itself: a component is bytes like any others."""

import schemathesis

schemathesis.serializer.alias("application/wasm", "application/octet-stream")
