\set first random(0, 1000000)
\set seed random(1, 4611686018427387904)
BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
SELECT pg_advisory_xact_lock_shared(7023767254913049);
SELECT a.balance, a.facts_revision, a.credits_low FROM accounts a WHERE a.id IN (SELECT a.account_id FROM {chosen});
SELECT 1 AS is_there FROM suppressions WHERE (account_id, address) IN (SELECT a.account_id, {recipient} FROM {chosen})
    AND (expires_at IS NULL OR expires_at > {now});
SELECT max(nextval(pg_get_serial_sequence('ledger', 'id'))) AS debit FROM generate_series(1, least({group}, {accounts})) \gset
INSERT INTO messages (id, period, account_id, key_id, channel, template_slug, template_revision,
    sender, domain_id, return_path, recipient, subject, route, state, reason,
    credits, debit, tags, metadata, decisions, body_of, resent_from, created_at, updated_at)
    SELECT {id}, {now} / 3600000, a.account_id, a.key_id, s.channel, s.template_slug, s.template_revision,
    s.sender, a.domain_id, s.return_path, {recipient}, s.subject, s.route, s.state, s.reason,
    s.credits, CAST(:debit AS BIGINT), s.tags, s.metadata, s.decisions, NULL, NULL, {now}, {now}
    FROM {chosen} CROSS JOIN load.sample s;
INSERT INTO bodies (message_id, dictionary, bytes)
    SELECT {id}, NULL, decode('{body}', 'hex') FROM generate_series(1, {group}) AS i;
SELECT id, balance FROM accounts WHERE id IN (SELECT a.account_id FROM {chosen}) ORDER BY id FOR NO KEY UPDATE;
INSERT INTO ledger (account_id, kind, amount, messages, created_at)
    SELECT a.account_id, 'debit', -count(*) * min(s.credits), count(*), {now}
    FROM {chosen} CROSS JOIN load.sample s GROUP BY a.account_id ORDER BY a.account_id;
INSERT INTO queue (message_id, account_id, lane, due_at, octets)
    SELECT {id}, a.account_id, s.lane, {now} + 3600000, s.octets FROM {chosen} CROSS JOIN load.sample s;
INSERT INTO sent (period, state, account_id, changes)
    SELECT {now} / 3600000, 'accepted', a.account_id, count(*) FROM {chosen} GROUP BY a.account_id ORDER BY a.account_id
    ON CONFLICT (period, state, account_id) DO UPDATE SET changes = sent.changes + excluded.changes;
INSERT INTO events (subject, account_id, type, detail, created_at)
    SELECT {id}, a.account_id, 1, s.reason, {now} FROM {chosen} CROSS JOIN load.sample s;
INSERT INTO sent (period, state, account_id, changes)
    SELECT {now} / 3600000, 'scheduled', a.account_id, count(*) FROM {chosen} GROUP BY a.account_id ORDER BY a.account_id
    ON CONFLICT (period, state, account_id) DO UPDATE SET changes = sent.changes + excluded.changes;
INSERT INTO usage (day, account_id, sent)
    SELECT {now} / 86400000, a.account_id, count(*) FROM {chosen} GROUP BY a.account_id ORDER BY a.account_id
    ON CONFLICT (day, account_id) DO UPDATE SET sent = usage.sent + excluded.sent;
INSERT INTO template_usage (day, account_id, slug, sent)
    SELECT {now} / 86400000, a.account_id, min(s.template_slug), count(*)
    FROM {chosen} CROSS JOIN load.sample s GROUP BY a.account_id ORDER BY a.account_id
    ON CONFLICT (day, account_id, slug) DO UPDATE SET sent = template_usage.sent + excluded.sent;
COMMIT;
