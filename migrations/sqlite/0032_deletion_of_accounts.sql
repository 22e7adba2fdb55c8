-- An account that is being deleted: `deleting` from the order until the last row is gone.
--
-- As in `0026_pairs.sql` the condition changes and no row does, so only its text is written anew.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema
SET sql = replace(sql, 'CHECK (state IN (''active'', ''suspended''))',
                  'CHECK (state IN (''active'', ''suspended'') OR state = ''deleting'')')
WHERE type = 'table' AND name = 'accounts';
PRAGMA writable_schema = RESET;

-- Where the text was another one than expected, nothing of this is kept. That a table comes and goes lets other
-- connections read the schema anew.
CREATE TABLE deletable (changed INTEGER NOT NULL CHECK (changed = 1)) STRICT;
INSERT INTO deletable
SELECT count(*) FROM sqlite_schema
WHERE type = 'table' AND name = 'accounts' AND sql LIKE '%OR state = ''deleting'')%';
DROP TABLE deletable;

CREATE INDEX accounts_deleting ON accounts (id) WHERE state = 'deleting';

-- Both stay append-only, and go with their account alone.
DROP TRIGGER ledger_is_not_erased;
CREATE TRIGGER ledger_is_not_erased BEFORE DELETE ON ledger
WHEN NOT EXISTS (SELECT 1 FROM accounts WHERE id = OLD.account_id AND state = 'deleting')
BEGIN
    SELECT RAISE(ABORT, 'the ledger is append-only');
END;
DROP TRIGGER audit_is_not_erased;
CREATE TRIGGER audit_is_not_erased BEFORE DELETE ON audit
WHEN NOT EXISTS (SELECT 1 FROM accounts WHERE id = OLD.account_id AND state = 'deleting')
BEGIN
    SELECT RAISE(ABORT, 'the audit log is append-only');
END;
