-- 0 while a person's log-in goes back to a link that the owner of an account was shown: whoever took it may be the owner.
ALTER TABLE users ADD COLUMN address_proven INTEGER NOT NULL DEFAULT 1 CHECK (address_proven IN (0, 1));
-- Whether the owner of an account was shown the link, because the server sends no e-mail.
ALTER TABLE one_time_links ADD COLUMN is_shown INTEGER NOT NULL DEFAULT 0 CHECK (is_shown IN (0, 1));
