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
