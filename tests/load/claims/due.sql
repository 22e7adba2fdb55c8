SELECT l.number - 1 AS lane_number, q.message_id, q.account_id, q.is_wanted, q.octets, q.lane, q.due_at,
       q.attempts, q.first_at
FROM json_array_elements(CAST(CAST({starts} AS TEXT) AS JSON)) WITH ORDINALITY AS l (value, number)
JOIN LATERAL (
    SELECT message_id, account_id, is_wanted, octets, lane, due_at, attempts, first_at FROM queue
    WHERE lane = l.value ->> 0 AND account_id = decode(l.value ->> 1, 'hex') AND lease_owner IS NULL
      AND due_at <= {now}
      AND (due_at, message_id) > (CAST(l.value ->> 2 AS BIGINT), decode(l.value ->> 3, 'hex'))
    ORDER BY due_at, message_id LIMIT {each}) q ON TRUE
