-- Addresses that tests of templates really go to, once their holders have agreed.

CREATE TABLE test_recipients (
    account_id   BLOB NOT NULL REFERENCES accounts (id),
    -- In lower case throughout.
    address      TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    -- Null until its holder has agreed.
    confirmed_at INTEGER,
    PRIMARY KEY (account_id, address)
) STRICT, WITHOUT ROWID;

-- A mail that asks the holder of an address. Its link works for a day, in which the mail counts against the rates.
CREATE TABLE confirmation_mails (
    -- Of the secret in the link.
    hash       BLOB PRIMARY KEY NOT NULL CHECK (length(hash) = 32),
    account_id BLOB NOT NULL REFERENCES accounts (id),
    address    TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    -- 0 once the address was confirmed, or taken off the list.
    is_open    INTEGER NOT NULL DEFAULT 1 CHECK (is_open IN (0, 1))
) STRICT, WITHOUT ROWID;
CREATE INDEX confirmations_of_account ON confirmation_mails (account_id, created_at);
CREATE INDEX confirmations_to_address ON confirmation_mails (address, created_at);
CREATE INDEX confirmations_by_age ON confirmation_mails (created_at);
