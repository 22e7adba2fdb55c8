-- contract: a node before it does not know the state of an account that is being deleted.
-- An account that is being deleted: `deleting` from the order until the last row is gone.
ALTER TABLE accounts DROP CONSTRAINT accounts_state_check;
ALTER TABLE accounts ADD CONSTRAINT accounts_state_check CHECK (state IN ('active', 'suspended', 'deleting'));
CREATE INDEX accounts_deleting ON accounts (id) WHERE state = 'deleting';

-- Both stay append-only, and go with their account alone.
CREATE FUNCTION goes_with_its_account() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM accounts WHERE id = OLD.account_id AND state = 'deleting') THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'the % is append-only', TG_ARGV[0];
END $$;
DROP TRIGGER ledger_is_not_erased ON ledger;
CREATE TRIGGER ledger_is_not_erased BEFORE DELETE ON ledger
FOR EACH ROW EXECUTE FUNCTION goes_with_its_account('ledger');
DROP TRIGGER audit_is_not_erased ON audit;
CREATE TRIGGER audit_is_not_erased BEFORE DELETE ON audit
FOR EACH ROW EXECUTE FUNCTION goes_with_its_account('audit log');
