-- 0 while the owner of an account has invited a person who has not answered yet: nothing of the account is the person's to see.
ALTER TABLE memberships ADD COLUMN is_accepted INTEGER NOT NULL DEFAULT 1 CHECK (is_accepted IN (0, 1));
-- When the person last used the account: a log-in opens the newest one. Null for never.
ALTER TABLE memberships ADD COLUMN used_at INTEGER;
-- The account to which an invitation's link invites: whoever takes the link accepts. Null for every other link.
ALTER TABLE one_time_links ADD COLUMN account_id BLOB;
