-- What is posted of an event is the same for each of its webhooks: it is kept once.

CREATE TABLE webhook_bodies (
    event_id TEXT PRIMARY KEY,
    -- Of every try.
    body     TEXT NOT NULL
) STRICT;
INSERT INTO webhook_bodies (event_id, body)
    SELECT event_id, body FROM webhook_deliveries WHERE true ON CONFLICT DO NOTHING;
ALTER TABLE webhook_deliveries DROP COLUMN body;

-- A body goes with the last delivery of its event. All of these are to webhooks of one owner, which are
-- few: they are looked through, so that deliveries need no index by event.
CREATE TRIGGER webhook_body_goes AFTER DELETE ON webhook_deliveries
BEGIN
    DELETE FROM webhook_bodies
    WHERE event_id = OLD.event_id
      AND NOT EXISTS (SELECT 1 FROM webhook_deliveries d
                      WHERE d.event_id = OLD.event_id
                        AND d.webhook_id IN (SELECT w.id FROM webhooks w
                                             WHERE w.account_id IS (SELECT account_id FROM webhooks
                                                                    WHERE id = OLD.webhook_id)));
END;
