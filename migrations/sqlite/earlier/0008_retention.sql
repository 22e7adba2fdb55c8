-- Retention: content goes first, the message later, and both are found without a walk over the others.

-- When the content was dropped: the body, and the conversations of the attempts.
ALTER TABLE messages ADD COLUMN content_dropped_at INTEGER;

-- A message enters the first index when it comes to rest, and changes to the second with its content;
-- one that waits is in neither.
CREATE INDEX messages_with_content ON messages (updated_at)
    WHERE content_dropped_at IS NULL
      AND state IN ('delivered', 'relayed', 'bounced', 'failed', 'suppressed', 'canceled');
CREATE INDEX messages_without_content ON messages (updated_at) WHERE content_dropped_at IS NOT NULL;

-- Who else has the body; also what the foreign key looks for when a message goes.
CREATE INDEX messages_sharing ON messages (body_of) WHERE body_of IS NOT NULL;
