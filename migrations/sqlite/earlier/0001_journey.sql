-- The journey of a message, in tables. Times are milliseconds since the Unix epoch, UTC.

-- One number that moves whenever a fact changes that the hot path keeps in memory.
CREATE TABLE revision (
    id    INTEGER PRIMARY KEY CHECK (id = 1),
    value INTEGER NOT NULL
) STRICT;
INSERT INTO revision (id, value) VALUES (1, 1);

-- Written by the readiness probe: a disk that is full can still be read.
CREATE TABLE probe (
    id         INTEGER PRIMARY KEY CHECK (id = 1),
    written_at INTEGER NOT NULL
) STRICT;
INSERT INTO probe (id, written_at) VALUES (1, 0);

CREATE TABLE accounts (
    id         TEXT PRIMARY KEY,
    name       TEXT NOT NULL,
    plan       TEXT NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('active', 'suspended')),
    sender     TEXT,
    balance    INTEGER NOT NULL DEFAULT 0 CHECK (balance >= 0),
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE keys (
    id           TEXT PRIMARY KEY,
    account_id   TEXT NOT NULL REFERENCES accounts (id),
    name         TEXT NOT NULL,
    mode         TEXT NOT NULL CHECK (mode IN ('live', 'test')),
    lookup       TEXT NOT NULL UNIQUE,
    hash         BLOB NOT NULL CHECK (length(hash) = 32),
    scopes       TEXT NOT NULL,
    domains      TEXT NOT NULL,
    templates    TEXT NOT NULL,
    networks     TEXT NOT NULL,
    state        TEXT NOT NULL CHECK (state IN ('active', 'deactivated')),
    expires_at   INTEGER,
    last_used_at INTEGER,
    created_at   INTEGER NOT NULL
) STRICT;
CREATE INDEX keys_of_account ON keys (account_id);

-- Append-only. The balance of an account moves only by a row here, in the same statement.
CREATE TABLE ledger (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id TEXT NOT NULL REFERENCES accounts (id),
    kind       TEXT NOT NULL CHECK (kind IN ('grant', 'debit', 'refund', 'adjustment')),
    amount     INTEGER NOT NULL,
    message_id TEXT,
    reason     TEXT,
    created_at INTEGER NOT NULL,
    CHECK ((kind = 'debit' AND amount <= 0) OR (kind IN ('grant', 'refund') AND amount >= 0)
           OR kind = 'adjustment'),
    UNIQUE (message_id, kind)
) STRICT;
CREATE INDEX ledger_of_account ON ledger (account_id, id);
CREATE TRIGGER ledger_moves_the_balance AFTER INSERT ON ledger BEGIN
    UPDATE accounts SET balance = balance + NEW.amount WHERE id = NEW.account_id;
END;
CREATE TRIGGER ledger_is_not_rewritten BEFORE UPDATE ON ledger BEGIN
    SELECT RAISE(ABORT, 'the ledger is append-only');
END;
CREATE TRIGGER ledger_is_not_erased BEFORE DELETE ON ledger BEGIN
    SELECT RAISE(ABORT, 'the ledger is append-only');
END;

-- Messages accepted a day, for plan policies that count.
CREATE TABLE usage (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    day        INTEGER NOT NULL,
    sent       INTEGER NOT NULL,
    PRIMARY KEY (account_id, day)
) STRICT, WITHOUT ROWID;

CREATE TABLE domains (
    id                 TEXT PRIMARY KEY,
    account_id         TEXT NOT NULL REFERENCES accounts (id),
    name               TEXT NOT NULL,
    kind               TEXT NOT NULL CHECK (kind IN ('dns', 'sandbox')),
    verification_token TEXT NOT NULL,
    progress           INTEGER NOT NULL CHECK (progress BETWEEN 0 AND 100),
    missing            TEXT NOT NULL,
    requirements       TEXT NOT NULL,
    decision           TEXT NOT NULL,
    created_at         INTEGER NOT NULL,
    checked_at         INTEGER NOT NULL,
    UNIQUE (account_id, name)
) STRICT;

CREATE TABLE templates (
    id                 TEXT PRIMARY KEY,
    account_id         TEXT NOT NULL REFERENCES accounts (id),
    slug               TEXT NOT NULL,
    published_revision INTEGER NOT NULL,
    created_at         INTEGER NOT NULL,
    UNIQUE (account_id, slug)
) STRICT;
CREATE TABLE template_versions (
    template_id TEXT NOT NULL REFERENCES templates (id),
    revision    INTEGER NOT NULL,
    source      TEXT NOT NULL,
    variables   TEXT NOT NULL,
    created_at  INTEGER NOT NULL,
    PRIMARY KEY (template_id, revision)
) STRICT;

CREATE TABLE suppressions (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    address    TEXT NOT NULL,
    reason     TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (account_id, address)
) STRICT, WITHOUT ROWID;

CREATE TABLE messages (
    id                TEXT PRIMARY KEY,
    account_id        TEXT NOT NULL REFERENCES accounts (id),
    key_id            TEXT NOT NULL,
    channel           TEXT NOT NULL CHECK (channel IN ('api', 'smtp', 'dashboard')),
    template_slug     TEXT,
    template_revision INTEGER,
    sender            TEXT NOT NULL,
    recipient         TEXT NOT NULL,
    subject           TEXT NOT NULL,
    route             TEXT NOT NULL CHECK (route IN ('sandbox', 'configured')),
    state             TEXT NOT NULL CHECK (state IN ('scheduled', 'queued', 'sending', 'delivered',
                          'relayed', 'deferred', 'bounced', 'failed', 'suppressed', 'canceled')),
    reason            TEXT NOT NULL,
    credits           INTEGER NOT NULL CHECK (credits >= 0),
    tags              TEXT NOT NULL,
    metadata          TEXT NOT NULL,
    created_at        INTEGER NOT NULL,
    updated_at        INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX messages_of_account ON messages (account_id, id);

-- One body serves any number of messages; `lz4` is the LZ4 block format behind a 4 byte length.
CREATE TABLE bodies (
    message_id TEXT PRIMARY KEY REFERENCES messages (id),
    codec      TEXT NOT NULL CHECK (codec IN ('lz4')),
    bytes      BLOB NOT NULL
) STRICT;

-- What is still to be done. A row leaves when its message rests.
CREATE TABLE queue (
    message_id  TEXT PRIMARY KEY REFERENCES messages (id),
    due_at      INTEGER NOT NULL,
    attempts    INTEGER NOT NULL DEFAULT 0,
    first_at    INTEGER,
    lease_owner TEXT,
    lease_until INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX queue_by_due ON queue (due_at);

-- In the order in which they were written, whatever the clock said.
CREATE TABLE events (
    sequence   INTEGER PRIMARY KEY AUTOINCREMENT,
    id         TEXT NOT NULL,
    message_id TEXT NOT NULL REFERENCES messages (id),
    account_id TEXT NOT NULL,
    type       TEXT NOT NULL,
    detail     TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX events_of_message ON events (message_id);

-- What each plugin decided, for messages and for refusals (those have no message).
CREATE TABLE decisions (
    id         TEXT PRIMARY KEY,
    account_id TEXT NOT NULL,
    message_id TEXT,
    outcome    TEXT NOT NULL,
    plugins    TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX decisions_of_message ON decisions (message_id) WHERE message_id IS NOT NULL;
CREATE INDEX decisions_of_refusals ON decisions (created_at) WHERE message_id IS NULL;

-- The answers of the last 24 hours, by the account's own key.
CREATE TABLE idempotency (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    key        TEXT NOT NULL,
    body_hash  BLOB NOT NULL CHECK (length(body_hash) = 32),
    answer     TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (account_id, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_by_expiry ON idempotency (expires_at);

-- Whoever changes a fact moves the revision; no code can forget it.
CREATE TRIGGER account_added AFTER INSERT ON accounts
    BEGIN UPDATE revision SET value = value + 1; END;
CREATE TRIGGER account_changed AFTER UPDATE OF name, plan, state, sender ON accounts
    BEGIN UPDATE revision SET value = value + 1; END;
CREATE TRIGGER credits_granted AFTER INSERT ON ledger WHEN NEW.kind IN ('grant', 'adjustment')
    BEGIN UPDATE revision SET value = value + 1; END;
CREATE TRIGGER key_added AFTER INSERT ON keys
    BEGIN UPDATE revision SET value = value + 1; END;
CREATE TRIGGER key_changed AFTER UPDATE OF name, scopes, domains, templates, networks, state, expires_at ON keys
    BEGIN UPDATE revision SET value = value + 1; END;
CREATE TRIGGER key_removed AFTER DELETE ON keys
    BEGIN UPDATE revision SET value = value + 1; END;
CREATE TRIGGER domain_added AFTER INSERT ON domains
    BEGIN UPDATE revision SET value = value + 1; END;
CREATE TRIGGER domain_changed AFTER UPDATE ON domains
    BEGIN UPDATE revision SET value = value + 1; END;
CREATE TRIGGER domain_removed AFTER DELETE ON domains
    BEGIN UPDATE revision SET value = value + 1; END;
CREATE TRIGGER template_added AFTER INSERT ON templates
    BEGIN UPDATE revision SET value = value + 1; END;
CREATE TRIGGER template_changed AFTER UPDATE ON templates
    BEGIN UPDATE revision SET value = value + 1; END;
CREATE TRIGGER template_removed AFTER DELETE ON templates
    BEGIN UPDATE revision SET value = value + 1; END;
