SELECT coalesce(json_agg(json_build_array(lane, encode(account_id, 'hex'), 0, repeat('0', 32))), '[]') AS starts
FROM (SELECT * FROM ({lanes}) AS page ORDER BY random() LIMIT {lanes_of_a_claim}) AS of_a_claim \gset
SELECT coalesce(array_agg(message_id), '{}') AS ids
FROM (SELECT message_id FROM ({due}) AS due LIMIT 64) AS of_a_claim \gset
BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
SELECT pg_advisory_xact_lock_shared(7023767254913049);
{lease};
SELECT 1 AS is_there FROM lanes
    WHERE (lane, account_id) IN (SELECT l.value ->> 0, decode(l.value ->> 1, 'hex') FROM {all_starts})
    ORDER BY lane, account_id FOR UPDATE;
DELETE FROM lanes USING {all_starts} WHERE lanes.lane = l.value ->> 0 AND lanes.account_id = decode(l.value ->> 1, 'hex')
    AND NOT EXISTS (SELECT 1 FROM queue q
                    WHERE q.lane = lanes.lane AND q.account_id = lanes.account_id AND q.lease_owner IS NULL);
UPDATE lanes SET due_at = n.due_at
    FROM {all_starts} CROSS JOIN LATERAL (
        SELECT q.due_at FROM queue q
        WHERE q.lane = l.value ->> 0 AND q.account_id = decode(l.value ->> 1, 'hex') AND q.lease_owner IS NULL
        ORDER BY q.due_at LIMIT 1) AS n
    WHERE lanes.lane = l.value ->> 0 AND lanes.account_id = decode(l.value ->> 1, 'hex') AND n.due_at > lanes.due_at;
COMMIT;
