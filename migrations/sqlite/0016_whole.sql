-- All tables. A directory that is new runs this file alone; one of an earlier version has run the files in
-- `earlier/` and is converted into a database of this schema.
--
-- Identifiers are the 16 bytes of their ULID, in the order of their time; the prefix (`msg_`, …) stands outside
-- of the database only, and in texts that were given to somebody (JSON, `queue.waits_for`). Times are
-- milliseconds since the Unix epoch, UTC. A `period` is a whole hour of a message's identifier: its time divided
-- by 3,600,000. What every send writes has no foreign keys, and begins with the time wherever it is found by an
-- account: what is written at one time is on few pages then, however many accounts there are.

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

-- What the work in the background remembers from one start to the next.
CREATE TABLE upkeep (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
-- What the identifiers of this directory's events are derived with, besides their time and number.
INSERT INTO upkeep (name, value) VALUES ('event_salt', lower(hex(randomblob(16))));

CREATE TABLE accounts (
    id         BLOB PRIMARY KEY NOT NULL,
    name       TEXT NOT NULL,
    plan       TEXT NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('active', 'suspended')),
    sender     TEXT,
    -- Variables with their values, as JSON: what every template of the account is offered as defaults.
    brand      TEXT NOT NULL DEFAULT '{}',
    -- A send that would leave variables of a template blank is refused.
    strict     INTEGER NOT NULL DEFAULT 0 CHECK (strict IN (0, 1)),
    balance    INTEGER NOT NULL DEFAULT 0 CHECK (balance >= 0),
    -- The newest row of its ledger.
    last_entry INTEGER,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE keys (
    id           BLOB PRIMARY KEY NOT NULL,
    account_id   BLOB NOT NULL REFERENCES accounts (id),
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

-- Append-only. The balance of an account moves only by a row here, in the same statement. A debit pays for all
-- messages of one account that one transaction accepted: `messages.debit` names it, `messages.credits` is what
-- each of them cost.
CREATE TABLE ledger (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id BLOB NOT NULL,
    kind       TEXT NOT NULL CHECK (kind IN ('grant', 'debit', 'refund', 'adjustment')),
    amount     INTEGER NOT NULL,
    -- How many messages a debit pays for.
    messages   INTEGER,
    -- The message of a refund; of a debit only where an earlier version wrote it.
    message_id BLOB,
    reason     TEXT,
    created_at INTEGER NOT NULL,
    -- The row before it of the same account: `accounts.last_entry` and this are the way through a ledger.
    previous   INTEGER,
    CHECK ((kind = 'debit' AND amount <= 0) OR (kind IN ('grant', 'refund') AND amount >= 0)
           OR kind = 'adjustment')
) STRICT;
CREATE UNIQUE INDEX refunded_once ON ledger (message_id) WHERE kind = 'refund';
CREATE TRIGGER ledger_moves_the_balance AFTER INSERT ON ledger BEGIN
    UPDATE ledger SET previous = (SELECT last_entry FROM accounts WHERE id = NEW.account_id)
    WHERE id = NEW.id;
    UPDATE accounts SET balance = balance + NEW.amount, last_entry = NEW.id WHERE id = NEW.account_id;
END;
CREATE TRIGGER ledger_is_not_rewritten
BEFORE UPDATE OF id, account_id, kind, amount, messages, message_id, reason, created_at ON ledger BEGIN
    SELECT RAISE(ABORT, 'the ledger is append-only');
END;
CREATE TRIGGER ledger_stays_in_order BEFORE UPDATE OF previous ON ledger WHEN OLD.previous IS NOT NULL BEGIN
    SELECT RAISE(ABORT, 'the ledger is append-only');
END;
CREATE TRIGGER ledger_is_not_erased BEFORE DELETE ON ledger BEGIN
    SELECT RAISE(ABORT, 'the ledger is append-only');
END;

-- Messages accepted a day, for plan policies that count.
CREATE TABLE usage (
    day        INTEGER NOT NULL,
    account_id BLOB NOT NULL,
    sent       INTEGER NOT NULL,
    PRIMARY KEY (day, account_id)
) STRICT, WITHOUT ROWID;

-- How often messages of a period and an account came into a state. `accepted` counts each message once;
-- `queued` and `sending` are not counted.
CREATE TABLE sent (
    period     INTEGER NOT NULL,
    state      TEXT NOT NULL,
    account_id BLOB NOT NULL,
    changes    INTEGER NOT NULL,
    PRIMARY KEY (period, state, account_id)
) STRICT, WITHOUT ROWID;

-- The periods in which an account has sent something: where its lists look.
CREATE TABLE periods (
    account_id BLOB NOT NULL,
    period     INTEGER NOT NULL,
    PRIMARY KEY (account_id, period)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER period_begins AFTER INSERT ON sent WHEN NEW.state = 'accepted' BEGIN
    INSERT INTO periods (account_id, period) VALUES (NEW.account_id, NEW.period) ON CONFLICT DO NOTHING;
END;
-- Retention may have dropped the period while its count is still there.
CREATE TRIGGER period_goes_on AFTER UPDATE OF changes ON sent WHEN NEW.state = 'accepted' BEGIN
    INSERT INTO periods (account_id, period) VALUES (NEW.account_id, NEW.period) ON CONFLICT DO NOTHING;
END;

CREATE TABLE domains (
    id                 BLOB PRIMARY KEY NOT NULL,
    account_id         BLOB NOT NULL REFERENCES accounts (id),
    name               TEXT NOT NULL,
    kind               TEXT NOT NULL CHECK (kind IN ('dns', 'sandbox')),
    verification_token TEXT NOT NULL,
    phase              TEXT NOT NULL CHECK (phase IN ('pending', 'verified', 'warned', 'degraded', 'failed')),
    -- Since when it is in its phase.
    since              INTEGER NOT NULL,
    progress           INTEGER NOT NULL CHECK (progress BETWEEN 0 AND 100),
    missing            TEXT NOT NULL,
    requirements       TEXT NOT NULL,
    decision           TEXT NOT NULL,
    -- The organizational domain, and how an eye sees it (UTS 39 skeleton), to find look-alikes.
    organizational     TEXT NOT NULL,
    skeleton           TEXT NOT NULL,
    -- Whether the operator allows it to look like another account's.
    may_look_alike     INTEGER NOT NULL DEFAULT 0 CHECK (may_look_alike IN (0, 1)),
    created_at         INTEGER NOT NULL,
    UNIQUE (account_id, name)
) STRICT;
CREATE INDEX domains_by_name ON domains (name);
CREATE INDEX domains_by_skeleton ON domains (skeleton) WHERE kind = 'dns';

-- What changes with every check stands apart from `domains`, whose every change moves the revision
-- of the facts. A sandbox domain has no row here.
CREATE TABLE domain_checks (
    domain_id     BLOB PRIMARY KEY REFERENCES domains (id) ON DELETE CASCADE,
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

CREATE TABLE dkim_keys (
    domain_id   BLOB NOT NULL REFERENCES domains (id) ON DELETE CASCADE,
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

CREATE TABLE templates (
    id                 BLOB PRIMARY KEY NOT NULL,
    account_id         BLOB NOT NULL REFERENCES accounts (id),
    slug               TEXT NOT NULL,
    published_revision INTEGER NOT NULL,
    created_at         INTEGER NOT NULL,
    UNIQUE (account_id, slug)
) STRICT;
CREATE TABLE template_versions (
    template_id BLOB NOT NULL REFERENCES templates (id),
    revision    INTEGER NOT NULL,
    source      TEXT NOT NULL,
    variables   TEXT NOT NULL,
    created_at  INTEGER NOT NULL,
    PRIMARY KEY (template_id, revision)
) STRICT;

CREATE TABLE suppressions (
    account_id BLOB NOT NULL REFERENCES accounts (id),
    -- In lower case throughout.
    address    TEXT NOT NULL,
    kind       TEXT NOT NULL CHECK (kind IN ('bounce', 'complaint', 'manual')),
    -- In the words of whoever put it there.
    reason     TEXT NOT NULL,
    -- The message that bounced or was complained about.
    message_id BLOB,
    created_at INTEGER NOT NULL,
    -- Null: until somebody takes it off.
    expires_at INTEGER,
    PRIMARY KEY (account_id, address)
) STRICT, WITHOUT ROWID;
CREATE INDEX suppressions_by_expiry ON suppressions (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE messages (
    id                 BLOB PRIMARY KEY CHECK (length(id) = 16),
    -- Of its identifier.
    period             INTEGER NOT NULL,
    account_id         BLOB NOT NULL,
    key_id             BLOB NOT NULL,
    channel            TEXT NOT NULL,
    template_slug      TEXT,
    template_revision  INTEGER,
    -- The author: the address in From.
    sender             TEXT NOT NULL,
    -- The domain that it was accepted for: one that is added again under the same name is another. Null for
    -- messages of an earlier version.
    domain_id          BLOB,
    -- Where bounces go: to the author where it is null, nowhere where it is empty.
    return_path        TEXT,
    recipient          TEXT NOT NULL,
    subject            TEXT NOT NULL,
    route              TEXT NOT NULL CHECK (route IN ('sandbox', 'configured')),
    state              TEXT NOT NULL CHECK (state IN ('scheduled', 'queued', 'sending', 'delivered',
                           'relayed', 'deferred', 'bounced', 'failed', 'suppressed', 'canceled')),
    reason             TEXT NOT NULL,
    credits            INTEGER NOT NULL CHECK (credits >= 0),
    -- The row of the ledger that paid for it; null where it cost nothing.
    debit              INTEGER,
    -- A list and an object, as JSON; null where they are empty.
    tags               TEXT,
    metadata           TEXT,
    -- What each plugin decided, in short form: see `plugin_identities`.
    decisions          TEXT NOT NULL,
    -- The identifier of its decisions is its own; these had another one in an earlier version.
    decision_id        BLOB,
    -- The message whose body this one has; its own where it is null.
    body_of            BLOB,
    -- The message that this one sends once more.
    resent_from        BLOB,
    created_at         INTEGER NOT NULL,
    updated_at         INTEGER NOT NULL,
    complained_at      INTEGER,
    -- When the content was dropped: the body, and the conversations of the attempts.
    content_dropped_at INTEGER
) STRICT, WITHOUT ROWID;
-- The period stands first: what many accounts send at one time, to many recipients, are neighbours, and so are
-- what retention drops together. `periods` says where an account has messages.
CREATE INDEX messages_of_account ON messages (period, account_id, id);
CREATE INDEX messages_of_recipient ON messages (period, account_id, recipient, id);
-- What is looked for and rare. A send that waits in the queue is not in it, and is found through the queue.
CREATE INDEX messages_by_state ON messages (period, account_id, state, id)
    WHERE state IN ('scheduled', 'deferred', 'bounced', 'failed', 'suppressed', 'canceled');
-- Whether an earlier message to a recipient failed: asked for each that fails in an unclear way.
CREATE INDEX messages_failed ON messages (account_id, recipient, updated_at) WHERE state IN ('bounced', 'failed');
-- A message enters the first index when it comes to rest, and changes to the second with its content;
-- one that waits is in neither.
CREATE INDEX messages_with_content ON messages (updated_at)
    WHERE content_dropped_at IS NULL
      AND state IN ('delivered', 'relayed', 'bounced', 'failed', 'suppressed', 'canceled');
CREATE INDEX messages_without_content ON messages (updated_at) WHERE content_dropped_at IS NOT NULL;
-- Who else has the body.
CREATE INDEX messages_sharing ON messages (body_of) WHERE body_of IS NOT NULL;
CREATE INDEX messages_decided_before ON messages (decision_id) WHERE decision_id IS NOT NULL;

-- One body serves any number of messages. `bytes` is the LZ4 block format behind a 4 byte length.
CREATE TABLE bodies (
    message_id BLOB PRIMARY KEY NOT NULL,
    -- The dictionary that it was compressed with; null where it was compressed alone.
    dictionary INTEGER,
    bytes      BLOB NOT NULL
) STRICT;

-- What bodies of one version of a template have in common: a message of it without anybody's data. Never changed,
-- and kept as long as the version.
CREATE TABLE dictionaries (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    template_id BLOB NOT NULL,
    revision    INTEGER NOT NULL,
    bytes       BLOB NOT NULL,
    UNIQUE (template_id, revision),
    FOREIGN KEY (template_id, revision) REFERENCES template_versions (template_id, revision)
) STRICT;

-- What is still to be done. A row leaves when its message rests.
CREATE TABLE queue (
    message_id  BLOB PRIMARY KEY,
    account_id  BLOB NOT NULL,
    -- `sandbox`, or the recipient's domain in lower case.
    lane        TEXT NOT NULL,
    due_at      INTEGER NOT NULL,
    attempts    INTEGER NOT NULL DEFAULT 0,
    first_at    INTEGER,
    lease_owner TEXT,
    lease_until INTEGER,
    -- The hosts, or the smarthost, that could not be reached when it was last tried.
    waits_for   TEXT,
    -- Somebody wants another attempt since `due_at`, whatever was known of its destination before.
    is_wanted   INTEGER NOT NULL DEFAULT 0,
    -- Octets of the message, so that a lease need not read all of its body.
    octets      INTEGER
) STRICT, WITHOUT ROWID;
-- A message that is leased is in the second index instead of the first one: its due time stays as it is.
CREATE INDEX queue_of_lane ON queue (lane, account_id, due_at, message_id) WHERE lease_owner IS NULL;
CREATE INDEX queue_leased ON queue (lease_until) WHERE lease_owner IS NOT NULL;
CREATE INDEX queue_waiting ON queue (waits_for, due_at) WHERE waits_for IS NOT NULL;

-- One account's messages to one recipient domain, or to the sandbox inbox. `due_at` is a lower bound: no
-- message of the lane that nobody has leased is due earlier. Triggers lower the bound; a claim, or a look
-- that finds nothing, raises it or removes the row.
CREATE TABLE lanes (
    lane       TEXT NOT NULL,
    account_id BLOB NOT NULL,
    due_at     INTEGER NOT NULL,
    PRIMARY KEY (lane, account_id)
) STRICT, WITHOUT ROWID;
-- The sandbox inbox waits behind nothing else, and nothing else behind it.
CREATE INDEX lanes_by_due ON lanes (due_at, lane, account_id) WHERE lane <> 'sandbox';
CREATE INDEX lanes_of_sandbox ON lanes (due_at, lane, account_id) WHERE lane = 'sandbox';
CREATE TRIGGER queue_added AFTER INSERT ON queue WHEN NEW.lease_owner IS NULL
BEGIN
    INSERT INTO lanes (lane, account_id, due_at) VALUES (NEW.lane, NEW.account_id, NEW.due_at)
    ON CONFLICT (lane, account_id) DO UPDATE SET due_at = excluded.due_at
    WHERE excluded.due_at < lanes.due_at;
END;
CREATE TRIGGER queue_due_earlier AFTER UPDATE OF due_at, lease_owner ON queue
WHEN NEW.lease_owner IS NULL AND (OLD.lease_owner IS NOT NULL OR NEW.due_at < OLD.due_at)
BEGIN
    INSERT INTO lanes (lane, account_id, due_at) VALUES (NEW.lane, NEW.account_id, NEW.due_at)
    ON CONFLICT (lane, account_id) DO UPDATE SET due_at = excluded.due_at
    WHERE excluded.due_at < lanes.due_at;
END;

-- Counts that are read more often than anybody should count: `queue` has as many rows.
CREATE TABLE totals (
    name  TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO totals (name, value) VALUES ('queue', 0);
CREATE TRIGGER queue_grows AFTER INSERT ON queue BEGIN
    UPDATE totals SET value = value + 1 WHERE name = 'queue';
END;
CREATE TRIGGER queue_shrinks AFTER DELETE ON queue BEGIN
    UPDATE totals SET value = value - 1 WHERE name = 'queue';
END;

-- One attempt to hand a message over, and what was said.
CREATE TABLE attempts (
    message_id   BLOB NOT NULL,
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

-- In the order in which they were written, whatever the clock said. The identifier of an event is derived from
-- its time and its number, which is given to no other event: webhooks know it when the event is gone.
CREATE TABLE events (
    sequence   INTEGER PRIMARY KEY AUTOINCREMENT,
    -- What it is about; the type says whether that is a message, a domain, an account, a template or a webhook.
    subject    BLOB,
    -- What it is about where that has no identifier: a plugin's slot.
    name       TEXT,
    -- Null for an event of the server.
    account_id BLOB,
    -- A number of the list in `host/src/store/events/kind.rs`.
    type       INTEGER NOT NULL,
    detail     TEXT NOT NULL,
    -- What a bounce is told with, as a JSON object: code, enhanced, class, remoteHost, suppressed.
    facts      TEXT,
    created_at INTEGER NOT NULL,
    -- Its identifier, where an earlier version has given it one.
    id         BLOB
) STRICT;
CREATE INDEX events_of_subject ON events (subject) WHERE subject IS NOT NULL;

-- What never changes about decisions of plugins is written once: the kind, and which component it was, as a JSON
-- object of the members `slot` (absent in the oldest decisions), `name`, `version`, `digest` and
-- `settingsRevision`, in this order and without blanks between.
--
-- The short form of decisions is a JSON list with one list for each decision, in their order:
--     [identity, verdict, reason, micros]   or   [identity, verdict, reason, micros, blank]
-- `identity` is a number of this table, `reason` a text or null, `blank` a list of variables that is not empty.
-- The long form, which is what is told of a decision, is an object of `kind`, the members of the identity,
-- `verdict`, `reason`, `micros`, and `blank` where there is one.
CREATE TABLE plugin_identities (
    id       INTEGER PRIMARY KEY,
    kind     TEXT NOT NULL,
    identity TEXT NOT NULL,
    UNIQUE (kind, identity)
) STRICT;

-- What each plugin decided of a send that was refused; those of a message stand with the message.
CREATE TABLE decisions (
    id         BLOB PRIMARY KEY,
    account_id BLOB NOT NULL,
    -- The code of the refusal.
    outcome    TEXT NOT NULL,
    -- In short form.
    plugins    TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX decisions_by_age ON decisions (created_at);

-- The recorded input and answer of a plugin's call, for a bounded number of calls. `sealed` is
-- encrypted by the server's master key and bound to its row's decision and kind.
CREATE TABLE samples (
    decision_id BLOB NOT NULL,
    kind        TEXT NOT NULL,
    slot        TEXT NOT NULL,
    digest      TEXT NOT NULL,
    outcome     TEXT NOT NULL CHECK (outcome IN ('answered', 'trapped')),
    sealed      BLOB NOT NULL,
    created_at  INTEGER NOT NULL,
    PRIMARY KEY (decision_id, kind)
) STRICT;
CREATE INDEX samples_of_slot ON samples (kind, slot, outcome, created_at);
CREATE INDEX samples_by_age ON samples (created_at);
-- Which components recorded calls name, without reading the calls.
CREATE INDEX samples_by_component ON samples (digest);

-- The answers of the last 24 hours, by the account's own key. It belongs to an account and to the mode of the
-- API key: what a test key sent to the sandbox is no answer to the same request with a live key.
CREATE TABLE idempotency (
    account_id BLOB NOT NULL REFERENCES accounts (id),
    mode       TEXT NOT NULL CHECK (mode IN ('live', 'test')),
    key        TEXT NOT NULL,
    body_hash  BLOB NOT NULL CHECK (length(body_hash) = 32),
    answer     TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (account_id, mode, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_by_expiry ON idempotency (expires_at);

CREATE TABLE webhooks (
    id             BLOB PRIMARY KEY NOT NULL,
    -- Null for one of the server's operator.
    account_id     BLOB REFERENCES accounts (id),
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
INSERT INTO webhook_cursor (id, sequence) VALUES (1, 0);

-- One event for one webhook.
CREATE TABLE webhook_deliveries (
    webhook_id BLOB NOT NULL,
    event_id   BLOB NOT NULL,
    type       TEXT NOT NULL,
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

-- What is posted of an event is the same for each of its webhooks, and at every try: it is kept once.
CREATE TABLE webhook_bodies (
    event_id BLOB PRIMARY KEY NOT NULL,
    body     TEXT NOT NULL
) STRICT;
-- A body goes with the last delivery of its event. All of these are to webhooks of one owner, which are
-- few: they are looked through, so that deliveries need no index by event.
CREATE TRIGGER webhook_body_goes AFTER DELETE ON webhook_deliveries
BEGIN
    DELETE FROM webhook_bodies
    WHERE event_id = OLD.event_id
      AND NOT EXISTS (SELECT 1 FROM webhook_deliveries d
                      WHERE d.event_id = OLD.event_id
                        AND d.webhook_id IN (SELECT w.id FROM webhooks w
                                             WHERE w.account_id IS (SELECT account_id FROM webhooks
                                                                    WHERE id = OLD.webhook_id)));
END;

-- MTA-STS policies of the domains that mail goes to (RFC 8461). A policy holds until it expires,
-- whatever DNS and its host say meanwhile, so it must outlive a restart.
CREATE TABLE sts_policies (
    domain     TEXT PRIMARY KEY,
    -- As the domain's record announced it.
    id         TEXT NOT NULL,
    policy     TEXT NOT NULL,
    fetched_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX sts_policies_by_expiry ON sts_policies (expires_at);

-- Whoever changes a fact moves the revision; no code can forget it.
CREATE TRIGGER account_added AFTER INSERT ON accounts
    BEGIN UPDATE revision SET value = value + 1; END;
CREATE TRIGGER account_changed AFTER UPDATE OF name, plan, state, sender, brand, strict ON accounts
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
CREATE TRIGGER dkim_key_added AFTER INSERT ON dkim_keys
    BEGIN UPDATE revision SET value = value + 1; END;
CREATE TRIGGER dkim_key_changed AFTER UPDATE ON dkim_keys
    BEGIN UPDATE revision SET value = value + 1; END;
CREATE TRIGGER dkim_key_removed AFTER DELETE ON dkim_keys
    BEGIN UPDATE revision SET value = value + 1; END;
