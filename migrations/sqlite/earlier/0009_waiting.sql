-- What waits for a destination rather than for its own next moment: it goes on when that takes mail again.

-- The hosts, or the smarthost, that could not be reached when it was last tried.
ALTER TABLE queue ADD COLUMN waits_for TEXT;
-- Somebody wants another attempt since `due_at`, whatever was known of its destination before.
ALTER TABLE queue ADD COLUMN is_wanted INTEGER NOT NULL DEFAULT 0;
-- Octets of the message, so that a lease need not read all of its body.
ALTER TABLE queue ADD COLUMN octets INTEGER;
-- Of what waits already, about: bodies are compressed.
UPDATE queue SET octets = (SELECT 4 * length(b.bytes) FROM messages m
                           JOIN bodies b ON b.message_id = coalesce(m.body_of, m.id)
                           WHERE m.id = queue.message_id);
CREATE INDEX queue_waiting ON queue (waits_for, due_at) WHERE waits_for IS NOT NULL;
