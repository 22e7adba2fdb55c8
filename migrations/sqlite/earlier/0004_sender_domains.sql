-- Sender domains: how far their verification has come, what was last seen in DNS, their DKIM keys;
-- and events that are not about a message.

ALTER TABLE domains ADD COLUMN phase TEXT NOT NULL DEFAULT 'pending'
    CHECK (phase IN ('pending', 'verified', 'warned', 'degraded', 'failed'));
-- Since when it is in its phase.
ALTER TABLE domains ADD COLUMN since INTEGER NOT NULL DEFAULT 0;
-- The organizational domain, and how an eye sees it (UTS 39 skeleton), to find look-alikes.
ALTER TABLE domains ADD COLUMN organizational TEXT NOT NULL DEFAULT '';
ALTER TABLE domains ADD COLUMN skeleton TEXT NOT NULL DEFAULT '';
-- Whether the operator allows it to look like another account's.
ALTER TABLE domains ADD COLUMN may_look_alike INTEGER NOT NULL DEFAULT 0 CHECK (may_look_alike IN (0, 1));
UPDATE domains SET phase = CASE WHEN kind = 'sandbox' THEN 'verified' ELSE 'pending' END,
                   since = checked_at;
ALTER TABLE domains DROP COLUMN checked_at;
CREATE INDEX domains_by_name ON domains (name);
CREATE INDEX domains_by_skeleton ON domains (skeleton) WHERE kind = 'dns';

-- What changes with every check stands apart from `domains`, whose every change moves the revision
-- of the facts. A sandbox domain has no row here.
CREATE TABLE domain_checks (
    domain_id     TEXT PRIMARY KEY REFERENCES domains (id) ON DELETE CASCADE,
    -- Counts the checks that were written down; one that was made beside another is made again.
    number        INTEGER NOT NULL,
    -- When the next one is due; null where only the account holder asks for one.
    next_at       INTEGER,
    checked_at    INTEGER,
    -- Since when the proof of ownership is there without a gap, and when it was last seen.
    owned_since   INTEGER,
    owned_at      INTEGER,
    -- Since when required records could not be seen.
    unclear_since INTEGER,
    -- The policy's findings, and what they were made of: each look-up with its answers, as JSON.
    findings      TEXT NOT NULL,
    observations  TEXT NOT NULL,
    -- Why the last check came to no judgement; null where it did.
    failure       TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX domain_checks_clear ON domain_checks (next_at) WHERE unclear_since IS NULL;
CREATE INDEX domain_checks_unclear ON domain_checks (next_at) WHERE unclear_since IS NOT NULL;
-- Domains of an earlier version are due now; they get their keys then.
INSERT INTO domain_checks (domain_id, number, next_at, findings, observations)
    SELECT id, 0, 0, '[]', '[]' FROM domains WHERE kind = 'dns';

CREATE TABLE dkim_keys (
    domain_id   TEXT NOT NULL REFERENCES domains (id) ON DELETE CASCADE,
    selector    TEXT NOT NULL,
    algorithm   TEXT NOT NULL CHECK (algorithm IN ('rsa-sha256', 'ed25519-sha256')),
    -- As in the tag `p=` of its record.
    public_key  TEXT NOT NULL,
    -- PKCS #8, sealed with the server's master key for this row; empty once it is retired.
    private_key BLOB NOT NULL,
    -- `next` waits to be published, `signing` signs, `retired` only has to stay published for a while.
    phase       TEXT NOT NULL CHECK (phase IN ('next', 'signing', 'retired')),
    since       INTEGER NOT NULL,
    PRIMARY KEY (domain_id, selector)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER dkim_key_added AFTER INSERT ON dkim_keys
    BEGIN UPDATE revision SET value = value + 1; END;
CREATE TRIGGER dkim_key_changed AFTER UPDATE ON dkim_keys
    BEGIN UPDATE revision SET value = value + 1; END;
CREATE TRIGGER dkim_key_removed AFTER DELETE ON dkim_keys
    BEGIN UPDATE revision SET value = value + 1; END;

-- What the work in the background remembers from one start to the next.
CREATE TABLE upkeep (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The domain that a message was accepted for: one that is added again under the same name is another.
-- Null for messages of an earlier version.
ALTER TABLE messages ADD COLUMN domain_id TEXT;

-- An event is about a message or about a domain.
CREATE TABLE events_of_anything (
    sequence   INTEGER PRIMARY KEY AUTOINCREMENT,
    id         TEXT NOT NULL,
    subject    TEXT NOT NULL,
    account_id TEXT NOT NULL,
    type       TEXT NOT NULL,
    detail     TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
INSERT INTO events_of_anything (sequence, id, subject, account_id, type, detail, created_at)
    SELECT sequence, id, message_id, account_id, type, detail, created_at FROM events ORDER BY sequence;
DROP TABLE events;
ALTER TABLE events_of_anything RENAME TO events;
CREATE INDEX events_of_subject ON events (subject);
