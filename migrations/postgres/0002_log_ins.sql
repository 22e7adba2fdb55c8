-- False while a person's log-in goes back to a link that the owner of an account was shown: whoever took it may be the
-- owner.
ALTER TABLE users ADD COLUMN address_proven BOOLEAN NOT NULL DEFAULT TRUE;
-- Whether the owner of an account was shown the link, because the server sends no e-mail.
ALTER TABLE one_time_links ADD COLUMN is_shown BOOLEAN NOT NULL DEFAULT FALSE;

-- Invitations that owners of accounts have mailed within a day: what bounds them outlives whoever was invited.
CREATE TABLE invitations (
    account_id BYTEA NOT NULL REFERENCES accounts (id),
    -- In lower case.
    address    TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    -- Until when it counts.
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, address, created_at)
);
CREATE INDEX invitations_of_account ON invitations (account_id, expires_at);
CREATE INDEX invitations_to_address ON invitations (address, created_at);
CREATE INDEX invitations_by_end ON invitations (expires_at);

-- Codes that were tried at the second step of a log-in.
ALTER TABLE one_time_links ADD COLUMN codes_tried BIGINT NOT NULL DEFAULT 0;
