-- Facts are forgotten by account: whoever changes one moves the revision of all, and notes it at its account.

ALTER TABLE accounts ADD COLUMN facts_revision INTEGER NOT NULL DEFAULT 0;
CREATE INDEX accounts_by_revision ON accounts (facts_revision);
UPDATE accounts SET facts_revision = (SELECT value FROM revision);

DROP TRIGGER account_added;
DROP TRIGGER account_changed;
DROP TRIGGER credits_granted;
DROP TRIGGER key_added;
DROP TRIGGER key_changed;
DROP TRIGGER key_removed;
DROP TRIGGER domain_added;
DROP TRIGGER domain_changed;
DROP TRIGGER domain_removed;
DROP TRIGGER template_added;
DROP TRIGGER template_changed;
DROP TRIGGER template_removed;
DROP TRIGGER dkim_key_added;
DROP TRIGGER dkim_key_changed;
DROP TRIGGER dkim_key_removed;

CREATE TRIGGER account_added AFTER INSERT ON accounts BEGIN
    UPDATE revision SET value = value + 1;
    UPDATE accounts SET facts_revision = (SELECT value FROM revision) WHERE id = NEW.id;
END;
CREATE TRIGGER account_changed AFTER UPDATE OF name, plan, state, sender, brand, strict ON accounts BEGIN
    UPDATE revision SET value = value + 1;
    UPDATE accounts SET facts_revision = (SELECT value FROM revision) WHERE id = NEW.id;
END;
CREATE TRIGGER credits_granted AFTER INSERT ON ledger WHEN NEW.kind IN ('grant', 'adjustment') BEGIN
    UPDATE revision SET value = value + 1;
    UPDATE accounts SET facts_revision = (SELECT value FROM revision) WHERE id = NEW.account_id;
END;
CREATE TRIGGER key_added AFTER INSERT ON keys BEGIN
    UPDATE revision SET value = value + 1;
    UPDATE accounts SET facts_revision = (SELECT value FROM revision) WHERE id = NEW.account_id;
END;
CREATE TRIGGER key_changed AFTER UPDATE OF name, scopes, domains, templates, networks, state, expires_at ON keys BEGIN
    UPDATE revision SET value = value + 1;
    UPDATE accounts SET facts_revision = (SELECT value FROM revision) WHERE id = NEW.account_id;
END;
CREATE TRIGGER key_removed AFTER DELETE ON keys BEGIN
    UPDATE revision SET value = value + 1;
    UPDATE accounts SET facts_revision = (SELECT value FROM revision) WHERE id = OLD.account_id;
END;
CREATE TRIGGER domain_added AFTER INSERT ON domains BEGIN
    UPDATE revision SET value = value + 1;
    UPDATE accounts SET facts_revision = (SELECT value FROM revision) WHERE id = NEW.account_id;
END;
CREATE TRIGGER domain_changed AFTER UPDATE ON domains BEGIN
    UPDATE revision SET value = value + 1;
    UPDATE accounts SET facts_revision = (SELECT value FROM revision) WHERE id = NEW.account_id;
END;
CREATE TRIGGER domain_removed AFTER DELETE ON domains BEGIN
    UPDATE revision SET value = value + 1;
    UPDATE accounts SET facts_revision = (SELECT value FROM revision) WHERE id = OLD.account_id;
END;
CREATE TRIGGER template_added AFTER INSERT ON templates BEGIN
    UPDATE revision SET value = value + 1;
    UPDATE accounts SET facts_revision = (SELECT value FROM revision) WHERE id = NEW.account_id;
END;
CREATE TRIGGER template_changed AFTER UPDATE ON templates BEGIN
    UPDATE revision SET value = value + 1;
    UPDATE accounts SET facts_revision = (SELECT value FROM revision) WHERE id = NEW.account_id;
END;
CREATE TRIGGER template_removed AFTER DELETE ON templates BEGIN
    UPDATE revision SET value = value + 1;
    UPDATE accounts SET facts_revision = (SELECT value FROM revision) WHERE id = OLD.account_id;
END;
CREATE TRIGGER dkim_key_added AFTER INSERT ON dkim_keys BEGIN
    UPDATE revision SET value = value + 1;
    UPDATE accounts SET facts_revision = (SELECT value FROM revision) WHERE id = (SELECT account_id FROM domains WHERE id = NEW.domain_id);
END;
CREATE TRIGGER dkim_key_changed AFTER UPDATE ON dkim_keys BEGIN
    UPDATE revision SET value = value + 1;
    UPDATE accounts SET facts_revision = (SELECT value FROM revision) WHERE id = (SELECT account_id FROM domains WHERE id = NEW.domain_id);
END;
CREATE TRIGGER dkim_key_removed AFTER DELETE ON dkim_keys BEGIN
    UPDATE revision SET value = value + 1;
    UPDATE accounts SET facts_revision = (SELECT value FROM revision) WHERE id = (SELECT account_id FROM domains WHERE id = OLD.domain_id);
END;
