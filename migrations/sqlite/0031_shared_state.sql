-- What several nodes share beside the mail. On a file there is one node, whose plugins and whose sandbox inbox stand in
-- its data directory: these tables stay empty then.

-- The slots of plugins: what is active, what was before it, what waits, as JSON of the plugin host.
CREATE TABLE plugin_slots (
    slot       TEXT PRIMARY KEY,
    -- Moves with each change; who writes names the one that it has seen.
    generation INTEGER NOT NULL,
    state      TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Components, by `sha256:<hex>` of their bytes.
CREATE TABLE plugin_blobs (
    digest  TEXT PRIMARY KEY,
    -- When it was last given.
    kept_at INTEGER NOT NULL,
    bytes   BLOB NOT NULL
) STRICT;

-- What each node runs and has loaded, as JSON of the plugin host.
CREATE TABLE plugin_nodes (
    node    TEXT PRIMARY KEY,
    -- By the clock of the database.
    seen_at INTEGER NOT NULL,
    report  TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The sandbox inbox. `raw` stands last, so that a list does not touch the pages of the messages.
CREATE TABLE inbox (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    recipient     TEXT NOT NULL,
    -- The recipient in lower case.
    recipient_key TEXT NOT NULL,
    sender        TEXT NOT NULL,
    sender_name   TEXT NOT NULL,
    return_path   TEXT NOT NULL,
    subject       TEXT NOT NULL,
    received_at   INTEGER NOT NULL,
    size          INTEGER NOT NULL,
    raw           BLOB NOT NULL
) STRICT;
CREATE INDEX inbox_by_recipient ON inbox (recipient_key, id);
-- How much is in it: counted where messages come and go, never by a walk over the table.
CREATE TABLE inbox_total (
    id       INTEGER PRIMARY KEY CHECK (id = 1),
    messages INTEGER NOT NULL,
    bytes    INTEGER NOT NULL
) STRICT;
INSERT INTO inbox_total (id, messages, bytes) VALUES (1, 0, 0);
