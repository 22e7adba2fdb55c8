-- Several transactions write at one time. Each of them that adds to the queue, or takes from it, would wait for the one
-- row that counts it until the one before has committed: there are many rows now, and a session writes to one of them.
-- Their sum counts.
ALTER TABLE totals ADD COLUMN part BIGINT NOT NULL DEFAULT 0;
ALTER TABLE totals DROP CONSTRAINT totals_pkey;
ALTER TABLE totals ADD PRIMARY KEY (name, part);
CREATE FUNCTION queue_changed(difference BIGINT) RETURNS VOID LANGUAGE plpgsql AS $$
BEGIN
    IF difference <> 0 THEN
        INSERT INTO totals (name, part, value) VALUES ('queue', pg_backend_pid() % 256, difference)
        ON CONFLICT (name, part) DO UPDATE SET value = totals.value + excluded.value;
    END IF;
END $$;
CREATE OR REPLACE FUNCTION queue_added() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO lanes (lane, account_id, due_at)
    SELECT lane, account_id, min(due_at) FROM added WHERE lease_owner IS NULL
    GROUP BY lane, account_id ORDER BY lane, account_id
    ON CONFLICT (lane, account_id) DO UPDATE SET due_at = excluded.due_at
    WHERE excluded.due_at < lanes.due_at;
    PERFORM queue_changed((SELECT count(*) FROM added));
    RETURN NULL;
END $$;
CREATE OR REPLACE FUNCTION queue_shrinks() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM queue_changed(-(SELECT count(*) FROM removed));
    RETURN NULL;
END $$;
