SELECT due_at, lane, account_id FROM lanes
WHERE lane <> 'sandbox' AND due_at <= {now} AND (due_at, lane, account_id) > (0, '', decode('', 'hex')){own}
ORDER BY due_at, lane, account_id LIMIT 256
