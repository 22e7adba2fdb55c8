-- People: who logs in to the dashboard, what each may do in which account, and what was done by whom.

CREATE TABLE users (
    id          BLOB PRIMARY KEY NOT NULL,
    -- In lower case.
    email       TEXT NOT NULL UNIQUE,
    -- Argon2id, as a PHC string; null until the invitation is taken.
    password    TEXT,
    is_operator INTEGER NOT NULL DEFAULT 0 CHECK (is_operator IN (0, 1)),
    created_at  INTEGER NOT NULL
) STRICT;
-- Whether there is an operator, at each start.
CREATE INDEX users_operators ON users (id) WHERE is_operator = 1;

-- What a person has beside the password. One of a kind.
CREATE TABLE factors (
    user_id    BLOB NOT NULL REFERENCES users (id),
    kind       TEXT NOT NULL CHECK (kind IN ('totp')),
    -- Sealed with the server's master key.
    secret     BLOB NOT NULL,
    -- The time step of the last code that was accepted: no code is accepted twice.
    last_step  INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (user_id, kind)
) STRICT, WITHOUT ROWID;

CREATE TABLE recovery_codes (
    user_id BLOB NOT NULL REFERENCES users (id),
    hash    BLOB NOT NULL CHECK (length(hash) = 32),
    used_at INTEGER,
    PRIMARY KEY (user_id, hash)
) STRICT, WITHOUT ROWID;

CREATE TABLE memberships (
    user_id    BLOB NOT NULL REFERENCES users (id),
    account_id BLOB NOT NULL REFERENCES accounts (id),
    role       TEXT NOT NULL CHECK (role IN ('owner', 'member', 'read-only')),
    created_at INTEGER NOT NULL,
    PRIMARY KEY (user_id, account_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX memberships_of_account ON memberships (account_id);

-- The cookie holds 256 random bits; here is their SHA-256.
CREATE TABLE sessions (
    id          BLOB PRIMARY KEY NOT NULL,
    hash        BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
    user_id     BLOB NOT NULL REFERENCES users (id),
    -- The account that its pages show; null for a user without one.
    account_id  BLOB,
    created_at  INTEGER NOT NULL,
    seen_at     INTEGER NOT NULL,
    -- When the password was last given: what is dangerous asks for it again.
    verified_at INTEGER NOT NULL,
    -- The earlier of two ends: unused, and old.
    expires_at  INTEGER NOT NULL,
    ip          TEXT NOT NULL,
    agent       TEXT NOT NULL
) STRICT;
CREATE INDEX sessions_of_user ON sessions (user_id);
CREATE INDEX sessions_by_end ON sessions (expires_at);

-- Links that work once: set-up, invitation, reset, log-in, and the second step of a log-in.
CREATE TABLE one_time_links (
    hash       BLOB PRIMARY KEY NOT NULL CHECK (length(hash) = 32),
    purpose    TEXT NOT NULL CHECK (purpose IN ('set-up', 'invitation', 'reset', 'log-in', 'second-step')),
    -- Null for a set-up: there is nobody yet.
    user_id    BLOB REFERENCES users (id),
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX links_of_user ON one_time_links (user_id);
CREATE INDEX links_by_end ON one_time_links (expires_at);

-- Append-only. Names of people and keys are kept here too: what they did outlives them.
CREATE TABLE audit (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    created_at INTEGER NOT NULL,
    -- Null for what belongs to the server.
    account_id BLOB,
    actor      TEXT NOT NULL CHECK (actor IN ('user', 'key', 'control-token', 'command-line', 'server')),
    -- The identifier of a user or a key.
    actor_id   BLOB,
    -- The e-mail address of a user, the name of a key.
    actor_name TEXT,
    -- An operation of the API, or a name of the same kind.
    action     TEXT NOT NULL,
    -- What it was done to.
    subject    TEXT,
    -- Null where it did not come over the network.
    ip         TEXT
) STRICT;
CREATE INDEX audit_of_account ON audit (account_id, id);
CREATE TRIGGER audit_is_not_rewritten BEFORE UPDATE ON audit BEGIN
    SELECT RAISE(ABORT, 'the audit log is append-only');
END;
CREATE TRIGGER audit_is_not_erased BEFORE DELETE ON audit BEGIN
    SELECT RAISE(ABORT, 'the audit log is append-only');
END;
