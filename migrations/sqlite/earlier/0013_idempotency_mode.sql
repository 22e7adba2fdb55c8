-- An idempotency key belongs to an account and to the mode of the API key: what a test key sent to the
-- sandbox is no answer to the same request with a live key.
CREATE TABLE idempotency_by_mode (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    mode       TEXT NOT NULL CHECK (mode IN ('live', 'test')),
    key        TEXT NOT NULL,
    body_hash  BLOB NOT NULL CHECK (length(body_hash) = 32),
    answer     TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (account_id, mode, key)
) STRICT, WITHOUT ROWID;

-- The key that sent one of its messages says which mode an earlier answer was of.
INSERT INTO idempotency_by_mode (account_id, mode, key, body_hash, answer, expires_at)
    SELECT account_id,
           coalesce((SELECT k.mode
                     FROM json_each(i.answer) AS item
                     JOIN messages m ON m.id = item.value ->> '$.messageId'
                     JOIN keys k ON k.id = m.key_id
                     LIMIT 1), 'live'),
           key, body_hash, answer, expires_at
    FROM idempotency i;

DROP TABLE idempotency;
ALTER TABLE idempotency_by_mode RENAME TO idempotency;
CREATE INDEX idempotency_by_expiry ON idempotency (expires_at);
