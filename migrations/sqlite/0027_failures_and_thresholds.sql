-- Sends of a template that were refused, and messages of it that bounced or failed, a day. Not in `template_usage`,
-- whose first row of a day says that the template was sent.
CREATE TABLE template_failures (
    day        INTEGER NOT NULL,
    account_id BLOB NOT NULL,
    slug       TEXT NOT NULL,
    refused    INTEGER NOT NULL,
    failed     INTEGER NOT NULL,
    PRIMARY KEY (day, account_id, slug)
) STRICT, WITHOUT ROWID;

-- The balance below which the account is told `credits.low`; null for the server's own `[credits] low`.
ALTER TABLE accounts ADD COLUMN credits_low INTEGER CHECK (credits_low >= 0);
