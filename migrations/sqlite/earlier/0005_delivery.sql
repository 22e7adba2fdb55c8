-- Delivery: the queue knows where each message goes, each attempt is kept with its conversation, and
-- a suppression knows why it is there and for how long.

-- A message waits in a lane: `sandbox`, or its recipient's domain, so that a lane without a free place
-- can be passed over.
CREATE TABLE queue_of_lanes (
    message_id  TEXT PRIMARY KEY REFERENCES messages (id),
    account_id  TEXT NOT NULL,
    lane        TEXT NOT NULL,
    due_at      INTEGER NOT NULL,
    attempts    INTEGER NOT NULL DEFAULT 0,
    first_at    INTEGER,
    lease_owner TEXT,
    lease_until INTEGER
) STRICT, WITHOUT ROWID;
INSERT INTO queue_of_lanes (message_id, account_id, lane, due_at, attempts, first_at, lease_owner,
                            lease_until)
    SELECT q.message_id, m.account_id,
           CASE m.route WHEN 'sandbox' THEN 'sandbox'
                ELSE lower(replace(m.recipient, rtrim(m.recipient, replace(m.recipient, '@', '')), ''))
           END,
           q.due_at, q.attempts, q.first_at, q.lease_owner, q.lease_until
    FROM queue q JOIN messages m ON m.id = q.message_id;
DROP TABLE queue;
ALTER TABLE queue_of_lanes RENAME TO queue;
-- By due time and identifier: a million messages that are due at one moment are not sorted for each look.
CREATE INDEX queue_by_due ON queue (due_at, message_id, lane);
-- What is for the sandbox inbox waits behind nothing else.
CREATE INDEX queue_of_sandbox ON queue (due_at, message_id) WHERE lane = 'sandbox';

-- One attempt to hand a message over, and what was said.
CREATE TABLE attempts (
    message_id   TEXT NOT NULL REFERENCES messages (id),
    number       INTEGER NOT NULL,
    started_at   INTEGER NOT NULL,
    ended_at     INTEGER NOT NULL,
    -- `sandbox`, `direct`, or the name of a smarthost.
    route        TEXT NOT NULL,
    host         TEXT,
    address      TEXT,
    -- How the connection was encrypted, as in `TLS 1.3, verified`; null where it was not.
    tls          TEXT,
    outcome      TEXT NOT NULL,
    code         INTEGER,
    enhanced     TEXT,
    reply        TEXT NOT NULL,
    -- The dialog, compressed as bodies are; without the message's content and any secret.
    conversation BLOB NOT NULL,
    -- The end of the message was sent, and no reply came: it may have arrived, so it is not paid back.
    uncertain    INTEGER NOT NULL CHECK (uncertain IN (0, 1)),
    PRIMARY KEY (message_id, number)
) STRICT, WITHOUT ROWID;

ALTER TABLE messages ADD COLUMN complained_at INTEGER;
-- The message that this one sends once more.
ALTER TABLE messages ADD COLUMN resent_from TEXT;
CREATE INDEX messages_of_recipient ON messages (account_id, recipient, id);

ALTER TABLE suppressions RENAME TO earlier_suppressions;
CREATE TABLE suppressions (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    -- In lower case throughout.
    address    TEXT NOT NULL,
    kind       TEXT NOT NULL CHECK (kind IN ('bounce', 'complaint', 'manual')),
    -- In the words of whoever put it there.
    reason     TEXT NOT NULL,
    -- The message that bounced or was complained about.
    message_id TEXT,
    created_at INTEGER NOT NULL,
    -- Null: until somebody takes it off.
    expires_at INTEGER,
    PRIMARY KEY (account_id, address)
) STRICT, WITHOUT ROWID;
INSERT INTO suppressions (account_id, address, kind, reason, created_at)
    SELECT account_id, address, 'manual', reason, created_at FROM earlier_suppressions;
DROP TABLE earlier_suppressions;
CREATE INDEX suppressions_by_expiry ON suppressions (expires_at) WHERE expires_at IS NOT NULL;
