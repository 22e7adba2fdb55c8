-- A claim costs the same however much waits: due messages are found lane by lane, and a lane that is held
-- up costs one row, however long it is.

-- One account's messages to one recipient domain, or to the sandbox inbox. `due_at` is a lower bound: no
-- message of the lane that nobody has leased is due earlier. Triggers lower the bound; a claim, or a look
-- that finds nothing, raises it or removes the row.
CREATE TABLE lanes (
    lane       TEXT NOT NULL,
    account_id TEXT NOT NULL,
    due_at     INTEGER NOT NULL,
    PRIMARY KEY (lane, account_id)
) STRICT, WITHOUT ROWID;
-- The sandbox inbox waits behind nothing else, and nothing else behind it.
CREATE INDEX lanes_by_due ON lanes (due_at, lane, account_id) WHERE lane <> 'sandbox';
CREATE INDEX lanes_of_sandbox ON lanes (due_at, lane, account_id) WHERE lane = 'sandbox';

DROP INDEX queue_by_due;
DROP INDEX queue_of_sandbox;
-- A message that is leased is in the second index instead of the first one: its due time stays as it is.
CREATE INDEX queue_of_lane ON queue (lane, account_id, due_at, message_id) WHERE lease_owner IS NULL;
CREATE INDEX queue_leased ON queue (lease_until) WHERE lease_owner IS NOT NULL;

INSERT INTO lanes (lane, account_id, due_at)
    SELECT lane, account_id, min(due_at) FROM queue WHERE lease_owner IS NULL GROUP BY lane, account_id;

CREATE TRIGGER queue_added AFTER INSERT ON queue WHEN NEW.lease_owner IS NULL
BEGIN
    INSERT INTO lanes (lane, account_id, due_at) VALUES (NEW.lane, NEW.account_id, NEW.due_at)
    ON CONFLICT (lane, account_id) DO UPDATE SET due_at = excluded.due_at
    WHERE excluded.due_at < lanes.due_at;
END;
CREATE TRIGGER queue_due_earlier AFTER UPDATE OF due_at, lease_owner ON queue
WHEN NEW.lease_owner IS NULL AND (OLD.lease_owner IS NOT NULL OR NEW.due_at < OLD.due_at)
BEGIN
    INSERT INTO lanes (lane, account_id, due_at) VALUES (NEW.lane, NEW.account_id, NEW.due_at)
    ON CONFLICT (lane, account_id) DO UPDATE SET due_at = excluded.due_at
    WHERE excluded.due_at < lanes.due_at;
END;
