-- Who an account is to its recipients, and how it deals with variables that a send leaves out.

-- Variables with their values, as JSON: what every template of the account is offered as defaults.
ALTER TABLE accounts ADD COLUMN brand TEXT NOT NULL DEFAULT '{}';
-- A send that would leave variables of a template blank is refused.
ALTER TABLE accounts ADD COLUMN strict INTEGER NOT NULL DEFAULT 0 CHECK (strict IN (0, 1));

DROP TRIGGER account_changed;
CREATE TRIGGER account_changed AFTER UPDATE OF name, plan, state, sender, brand, strict ON accounts
    BEGIN UPDATE revision SET value = value + 1; END;
