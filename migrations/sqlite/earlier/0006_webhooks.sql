-- Webhooks: where events are told, and how far that has come.

CREATE TABLE webhooks (
    id             TEXT PRIMARY KEY,
    -- Null for one of the server's operator.
    account_id     TEXT REFERENCES accounts (id),
    url            TEXT NOT NULL,
    description    TEXT NOT NULL,
    -- The wanted types of events, as JSON; empty for all.
    types          TEXT NOT NULL,
    -- `whsec_…`, sealed with the server's master key for this row; the earlier one signs beside it
    -- until its time is over.
    secret         BLOB NOT NULL,
    earlier_secret BLOB,
    earlier_until  INTEGER,
    state          TEXT NOT NULL CHECK (state IN ('active', 'disabled')),
    -- Why it is in its state, and since when.
    reason         TEXT NOT NULL,
    since          INTEGER NOT NULL,
    -- It is told only what happened behind this event.
    after_sequence INTEGER NOT NULL,
    succeeded_at   INTEGER,
    -- The first failure since the last success.
    failing_since  INTEGER,
    created_at     INTEGER NOT NULL
) STRICT;
CREATE INDEX webhooks_of_account ON webhooks (account_id, id);

-- The last event that was handed to the webhooks.
CREATE TABLE webhook_cursor (
    id       INTEGER PRIMARY KEY CHECK (id = 1),
    sequence INTEGER NOT NULL
) STRICT;
INSERT INTO webhook_cursor (id, sequence) SELECT 1, coalesce(max(sequence), 0) FROM events;

-- One event for one webhook. Its body is written once: it is the same at every try.
CREATE TABLE webhook_deliveries (
    webhook_id TEXT NOT NULL,
    event_id   TEXT NOT NULL,
    type       TEXT NOT NULL,
    body       TEXT NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('pending', 'delivered', 'failed')),
    -- Tries of the present round; a replay begins another.
    attempts   INTEGER NOT NULL,
    -- When the next try is due; null where there is none.
    due_at     INTEGER,
    -- The last tries, oldest first, as JSON.
    log        TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (webhook_id, event_id),
    CHECK ((state = 'pending') = (due_at IS NOT NULL))
) STRICT;
CREATE INDEX webhook_deliveries_by_due ON webhook_deliveries (webhook_id, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX webhook_deliveries_failed ON webhook_deliveries (webhook_id, event_id) WHERE state = 'failed';
CREATE INDEX webhook_deliveries_by_age ON webhook_deliveries (created_at);
