-- For a list of more than two values in a CHECK, or in the WHERE of an index, SQLite fills a table of its own with the
-- list for each row that is written: a message cost three of them. A list of two is compared. What the conditions say
-- stays the same, so no row and no index is written anew: only their text changes
-- (https://www.sqlite.org/lang_altertable.html, "making other kinds of table schema changes").
PRAGMA writable_schema = ON;
UPDATE sqlite_schema
SET sql = replace(sql, 'CHECK (state IN (''scheduled'', ''queued'', ''sending'', ''delivered'',
                           ''relayed'', ''deferred'', ''bounced'', ''failed'', ''suppressed'', ''canceled''))',
                  'CHECK (state IN (''queued'', ''scheduled'') OR state IN (''sending'', ''delivered'')
                           OR state IN (''relayed'', ''deferred'') OR state IN (''bounced'', ''failed'')
                           OR state IN (''suppressed'', ''canceled''))')
WHERE name = 'messages';
UPDATE sqlite_schema
SET sql = replace(sql, 'state IN (''scheduled'', ''deferred'', ''bounced'', ''failed'', ''suppressed'', ''canceled'')',
                  'state NOT IN (''queued'', ''sending'') AND state NOT IN (''delivered'', ''relayed'')')
WHERE name = 'messages_by_state';
UPDATE sqlite_schema
SET sql = replace(sql, 'state IN (''delivered'', ''relayed'', ''bounced'', ''failed'', ''suppressed'', ''canceled'')',
                  'state NOT IN (''queued'', ''scheduled'') AND state NOT IN (''sending'', ''deferred'')')
WHERE name = 'messages_with_content';
UPDATE sqlite_schema
SET sql = replace(sql, 'CHECK (kind IN (''grant'', ''debit'', ''refund'', ''adjustment''))',
                  'CHECK (kind IN (''grant'', ''debit'') OR kind IN (''refund'', ''adjustment''))')
WHERE name = 'ledger';
PRAGMA writable_schema = RESET;

-- Where one of the four texts was another one than expected, nothing of this is kept. That a table comes and goes lets
-- other connections read the schema anew.
CREATE TABLE pairs (changed INTEGER NOT NULL CHECK (changed = 4)) STRICT;
INSERT INTO pairs
SELECT count(*) FROM sqlite_schema
WHERE (name = 'messages' AND sql LIKE '%OR state IN (''suppressed'', ''canceled'')%')
   OR (name = 'messages_by_state' AND sql LIKE '%state NOT IN (''delivered'', ''relayed'')%')
   OR (name = 'messages_with_content' AND sql LIKE '%state NOT IN (''sending'', ''deferred'')%')
   OR (name = 'ledger' AND sql LIKE '%OR kind IN (''refund'', ''adjustment'')%');
DROP TABLE pairs;
