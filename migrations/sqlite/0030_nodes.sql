-- The servers that work with this database, each from its start to its end: with a file there is one at a time. All
-- times are those of the database's clock.
CREATE TABLE nodes (
    -- `nod_…`, which also names the node in the leases of the queue.
    id         TEXT PRIMARY KEY,
    name       TEXT NOT NULL,
    -- What tells its data directory from every other one: whoever holds that directory's lock knows that no earlier
    -- server with it still runs.
    directory  TEXT NOT NULL,
    version    TEXT NOT NULL,
    -- The newest migration that it knows.
    migration  INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    -- When it last renewed its time, and until when the database counts on it.
    seen_at    INTEGER NOT NULL,
    seen_until INTEGER NOT NULL,
    -- How many milliseconds its own clock is ahead.
    skew_ms    INTEGER NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('live', 'draining', 'gone'))
) STRICT, WITHOUT ROWID;

-- Which node works for which of the 64 shares of all work. With a file nobody asks: all are those of the one node.
CREATE TABLE shares (
    share INTEGER PRIMARY KEY CHECK (share BETWEEN 0 AND 63),
    node  TEXT NOT NULL,
    -- How often it has changed its node.
    epoch INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
