-- What several nodes share beside the mail: plugins and the sandbox inbox.

-- The slots of plugins: what is active, what was before it, what waits, as JSON of the plugin host.
CREATE TABLE plugin_slots (
    slot       TEXT COLLATE "C" PRIMARY KEY,
    -- Moves with each change; who writes names the one that it has seen.
    generation BIGINT NOT NULL,
    state      TEXT NOT NULL
);

-- Components, by `sha256:<hex>` of their bytes.
CREATE TABLE plugin_blobs (
    digest  TEXT PRIMARY KEY,
    -- When it was last given.
    kept_at BIGINT NOT NULL,
    bytes   BYTEA NOT NULL
);
-- Components are compressed hardly at all: they are stored as they are.
ALTER TABLE plugin_blobs ALTER COLUMN bytes SET STORAGE EXTERNAL;

-- What each node runs and has loaded, as JSON of the plugin host.
CREATE TABLE plugin_nodes (
    node    TEXT COLLATE "C" PRIMARY KEY,
    -- By the clock of the database.
    seen_at BIGINT NOT NULL,
    report  TEXT NOT NULL
) WITH (fillfactor = 50);

-- The sandbox inbox.
CREATE TABLE inbox (
    id            BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    recipient     TEXT NOT NULL,
    -- The recipient in lower case.
    recipient_key TEXT NOT NULL,
    sender        TEXT NOT NULL,
    sender_name   TEXT NOT NULL,
    return_path   TEXT NOT NULL,
    subject       TEXT NOT NULL,
    received_at   BIGINT NOT NULL,
    size          BIGINT NOT NULL,
    raw           BYTEA NOT NULL
);
CREATE INDEX inbox_by_recipient ON inbox (recipient_key, id);
-- How much is in it: counted where messages come and go, never by a walk over the table.
CREATE TABLE inbox_total (
    id       BIGINT PRIMARY KEY CHECK (id = 1),
    messages BIGINT NOT NULL,
    bytes    BIGINT NOT NULL
) WITH (fillfactor = 50);
INSERT INTO inbox_total (id, messages, bytes) VALUES (1, 0, 0);
