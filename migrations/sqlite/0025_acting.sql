-- The account that an operator acts as in a session; null for none.
ALTER TABLE sessions ADD COLUMN acting_as BLOB;
-- Whether whoever did it is an operator who acted as the account.
ALTER TABLE audit ADD COLUMN acting INTEGER NOT NULL DEFAULT 0;
