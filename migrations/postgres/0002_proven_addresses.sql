-- False while a person's log-in goes back to a link that the owner of an account was shown: whoever took it may be the
-- owner.
ALTER TABLE users ADD COLUMN address_proven BOOLEAN NOT NULL DEFAULT TRUE;
-- Whether the owner of an account was shown the link, because the server sends no e-mail.
ALTER TABLE one_time_links ADD COLUMN is_shown BOOLEAN NOT NULL DEFAULT FALSE;
