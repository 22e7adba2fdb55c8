UPDATE queue SET lease_owner = {owner}, lease_until = {now} + 60000,
                 attempts = attempts + 1, first_at = coalesce(first_at, {now}),
                 waits_for = NULL, is_wanted = FALSE
WHERE message_id IN (SELECT message_id FROM queue
                     WHERE message_id = ANY({ids})
                       AND due_at <= {now} AND lease_owner IS NULL
                     ORDER BY message_id FOR UPDATE SKIP LOCKED)
  AND due_at <= {now} AND lease_owner IS NULL
RETURNING message_id, account_id, lane, attempts, first_at
