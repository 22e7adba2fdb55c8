-- The servers that work with this database, each from its start to its end. All times are those of the database's
-- clock.
CREATE TABLE nodes (
    -- `nod_…`, which also names the node in the leases of the queue.
    id         TEXT PRIMARY KEY,
    name       TEXT NOT NULL,
    -- What tells its data directory from every other one: whoever holds that directory's lock knows that no earlier
    -- server with it still runs.
    directory  TEXT NOT NULL,
    version    TEXT NOT NULL,
    -- The newest migration that it knows.
    migration  BIGINT NOT NULL,
    started_at BIGINT NOT NULL,
    -- When it last renewed its time, and until when the database counts on it.
    seen_at    BIGINT NOT NULL,
    seen_until BIGINT NOT NULL,
    -- How many milliseconds its own clock is ahead.
    skew_ms    BIGINT NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('live', 'draining', 'gone'))
) WITH (fillfactor = 50);

-- Which node works for which of the 64 shares of all work. It counts as long as its node does.
CREATE TABLE shares (
    share BIGINT PRIMARY KEY CHECK (share BETWEEN 0 AND 63),
    node  TEXT NOT NULL,
    -- How often it has changed its node.
    epoch BIGINT NOT NULL
) WITH (fillfactor = 50);
