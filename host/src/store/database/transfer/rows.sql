-- Rows for every table, as a server would have left them: triggers make the rest. What is hard to move is here on purpose:
-- nulls, empty values, U+0000, texts whose order depends on a locale, numbers whose rows are gone, flags.

INSERT INTO accounts (id, name, plan, state, sender, brand, strict, created_at, credits_low) VALUES
    (x'01A00000000000000000000000000001', 'Ann', 'pro', 'active', 'a@one.example', '{"name":"A"}', 1, 1, 500),
    (x'01A00000000000000000000000000002', '', 'free', 'suspended', NULL, '{}', 0, 2, NULL);
INSERT INTO keys (id, account_id, name, mode, lookup, hash, scopes, domains, templates, networks, state, created_at) VALUES
    (x'01B00000000000000000000000000001', x'01A00000000000000000000000000001', 'one', 'live', 'look-1', zeroblob(32),
     'send', '', '', '', 'active', 1),
    (x'01B00000000000000000000000000002', x'01A00000000000000000000000000002', 'two', 'test', 'look-2', randomblob(32),
     'send', '', '', '', 'deactivated', 2);
INSERT INTO ledger (account_id, kind, amount, reason, created_at) VALUES
    (x'01A00000000000000000000000000001', 'grant', 1000, 'Größe', 1),
    (x'01A00000000000000000000000000002', 'grant', 5, NULL, 2),
    (x'01A00000000000000000000000000001', 'adjustment', -3, '', 3);
INSERT INTO ledger (account_id, kind, amount, messages, created_at) VALUES
    (x'01A00000000000000000000000000001', 'debit', -2, 2, 4);
INSERT INTO ledger (account_id, kind, amount, message_id, created_at) VALUES
    (x'01A00000000000000000000000000001', 'refund', 1, x'01C00000000000000000000000000002', 5);
INSERT INTO usage (day, account_id, sent) VALUES (20000, x'01A00000000000000000000000000001', 2);
INSERT INTO sent (period, state, account_id, changes) VALUES
    (500000, 'accepted', x'01A00000000000000000000000000001', 2),
    (500000, 'Bounced', x'01A00000000000000000000000000001', 1),
    (500000, 'bounced', x'01A00000000000000000000000000001', 1);

INSERT INTO domains (id, account_id, name, kind, verification_token, phase, since, progress, missing, requirements,
                     decision, organizational, skeleton, may_look_alike, created_at) VALUES
    (x'01D00000000000000000000000000001', x'01A00000000000000000000000000001', 'one.example', 'dns', 't', 'verified', 1,
     100, '[]', '[]', '{}', 'one.example', 'one.example', 1, 1);
INSERT INTO domain_checks (domain_id, number, next_at, findings, observations, failure) VALUES
    (x'01D00000000000000000000000000001', 3, 9, '[]', '[]', NULL);
INSERT INTO dkim_keys (domain_id, selector, algorithm, public_key, private_key, phase, since) VALUES
    (x'01D00000000000000000000000000001', 'z1', 'ed25519-sha256', 'p', x'', 'retired', 1),
    (x'01D00000000000000000000000000001', 'Z2', 'rsa-sha256', 'p', x'00FF00', 'signing', 2);

INSERT INTO templates (id, account_id, kind, slug, draft, draft_at, published_revision, created_at) VALUES
    (x'01E00000000000000000000000000001', x'01A00000000000000000000000000001', 'template', 'code', NULL, NULL, 1, 1),
    (x'01E00000000000000000000000000002', NULL, 'layout', 'base', '{}', 5, 1, 2);
INSERT INTO template_versions (template_id, revision, source, variables, created_at, note, compiled) VALUES
    (x'01E00000000000000000000000000001', 1, '{}', '[]', 1, 'first', '{}'),
    (x'01E00000000000000000000000000001', 2, '{"text":"' || char(0) || '"}', '[]', 2, NULL, NULL),
    (x'01E00000000000000000000000000002', 1, '{}', '[]', 1, NULL, NULL);
INSERT INTO template_uses (block_id, template_id, revision) VALUES
    (x'01E00000000000000000000000000002', x'01E00000000000000000000000000001', 2);
INSERT INTO template_usage (day, account_id, slug, sent) VALUES
    (20000, x'01A00000000000000000000000000001', 'code', 2), (20000, x'01A00000000000000000000000000001', 'Zone', 1);
INSERT INTO template_failures (day, account_id, slug, refused, failed) VALUES
    (20000, x'01A00000000000000000000000000001', 'code', 1, 0);
INSERT INTO template_republications (template_id, revision, at, author, note) VALUES
    (x'01E00000000000000000000000000001', 1, 7, 'cli', NULL), (x'01E00000000000000000000000000001', 1, 7, 'cli', NULL),
    (x'01E00000000000000000000000000001', 1, 7, 'cli', 'again');
INSERT INTO dictionaries (template_id, revision, bytes) VALUES (x'01E00000000000000000000000000001', 1, x'0102');

INSERT INTO suppressions (account_id, address, kind, reason, message_id, created_at, expires_at) VALUES
    (x'01A00000000000000000000000000001', 'zoe@example.com', 'bounce', 'r', x'01C00000000000000000000000000001', 1, NULL),
    (x'01A00000000000000000000000000001', 'Ärger@example.com', 'manual', 'r', NULL, 1, 9),
    (x'01A00000000000000000000000000001', 'a_b@example.com', 'complaint', 'r', NULL, 1, NULL),
    (x'01A00000000000000000000000000001', 'a-b@example.com', 'manual', 'r', NULL, 1, NULL);
INSERT INTO test_recipients (account_id, address, created_at, confirmed_at) VALUES
    (x'01A00000000000000000000000000001', 'ä@example.com', 1, NULL), (x'01A00000000000000000000000000001', 'z@example.com', 1, 2);
INSERT INTO confirmation_mails (hash, account_id, address, created_at, is_open) VALUES
    (randomblob(32), x'01A00000000000000000000000000001', 'z@example.com', 1, 0);
INSERT INTO invitations (account_id, address, created_at, expires_at) VALUES
    (x'01A00000000000000000000000000001', 'Z@example.com', 1, 2), (x'01A00000000000000000000000000001', 'a@example.com', 1, 2);

INSERT INTO messages (id, period, account_id, key_id, channel, sender, return_path, recipient, subject, route, state, reason,
                      credits, debit, tags, decisions, created_at, updated_at) VALUES
    (x'01C00000000000000000000000000001', 500000, x'01A00000000000000000000000000001', x'01B00000000000000000000000000001',
     'api', 'a@one.example', '', 'zoe@example.com', 'Null' || char(0) || 'byte', 'configured', 'bounced', 'gone', 1, 4,
     '["t"]', '[[1,"allow",null,7]]', 4, 5),
    (x'01C00000000000000000000000000002', 500000, x'01A00000000000000000000000000001', x'01B00000000000000000000000000001',
     'api', 'a@one.example', NULL, 'late@example.com', 'Grüße 😀', 'sandbox', 'deferred', 'busy', 1, 4,
     NULL, '[]', 4, 6);
INSERT INTO bodies (message_id, dictionary, bytes) VALUES
    (x'01C00000000000000000000000000001', 1, randomblob(5000000)), (x'01C00000000000000000000000000002', NULL, x'');
INSERT INTO queue (message_id, account_id, lane, due_at, attempts, first_at, lease_owner, lease_until, waits_for, is_wanted,
                   octets) VALUES
    (x'01C00000000000000000000000000002', x'01A00000000000000000000000000001', 'example.com', 60, 1, 4, NULL, NULL, 'mx', 1,
     900),
    (x'01C00000000000000000000000000003', x'01A00000000000000000000000000001', 'sandbox', 61, 0, NULL, 'w', 99, NULL, 0, NULL);
INSERT INTO attempts (message_id, number, started_at, ended_at, route, outcome, code, reply, conversation, uncertain) VALUES
    (x'01C00000000000000000000000000001', 1, 4, 5, 'direct', 'bounced', 550, '550 gone', x'04', 0),
    (x'01C00000000000000000000000000002', 1, 4, 5, 'direct', 'deferred', NULL, '', x'', 1);
INSERT INTO plugin_identities (id, kind, identity) VALUES (1, 'plan', '{"name":"p"}'), (2, 'renderer', '{"name":"r"}');
INSERT INTO decisions (id, account_id, outcome, plugins, created_at) VALUES
    (x'01F00000000000000000000000000001', x'01A00000000000000000000000000001', 'BAD_REQUEST', '[]', 4);
INSERT INTO samples (decision_id, kind, slot, digest, outcome, sealed, created_at) VALUES
    (x'01F00000000000000000000000000002', 'renderer', 's', 'd', 'answered', x'01', 4),
    (x'01F00000000000000000000000000001', 'renderer', 's', 'd', 'trapped', x'02', 4),
    (x'01F00000000000000000000000000001', 'Plan', 's', 'd', 'trapped', x'03', 4);
INSERT INTO idempotency (account_id, mode, key, body_hash, answer, expires_at) VALUES
    (x'01A00000000000000000000000000001', 'live', 'b', zeroblob(32), '{}', 9),
    (x'01A00000000000000000000000000001', 'live', 'A', zeroblob(32), '{}', 9),
    (x'01A00000000000000000000000000001', 'live', '~', zeroblob(32), '{}', 9),
    (x'01A00000000000000000000000000001', 'live', '_a', zeroblob(32), '{}', 9),
    (x'01A00000000000000000000000000001', 'test', 'A', zeroblob(32), '{}', 9);

-- More than a batch, of which the last ones are gone again: their numbers are given to no other event.
INSERT INTO events (subject, name, account_id, type, detail, facts, created_at)
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2600)
    SELECT x'01C00000000000000000000000000001', NULL, x'01A00000000000000000000000000001', 2, 'event ' || i, NULL, i FROM n;
DELETE FROM events WHERE sequence > 2500;

INSERT INTO webhooks (id, account_id, url, description, types, secret, earlier_secret, state, reason, since, after_sequence,
                      created_at) VALUES
    (x'01AA0000000000000000000000000001', NULL, 'https://hook.example', '', '[]', x'01', NULL, 'active', '', 1, 7, 1);
UPDATE webhook_cursor SET sequence = 2400;
INSERT INTO webhook_deliveries (webhook_id, event_id, type, state, attempts, due_at, log, created_at) VALUES
    (x'01AA0000000000000000000000000001', x'01AB0000000000000000000000000001', 'message.bounced', 'pending', 1, 70, '[]', 5);
INSERT INTO webhook_bodies (event_id, body) VALUES (x'01AB0000000000000000000000000001', '{"a":1}');
INSERT INTO sts_policies (domain, id, policy, fetched_at, expires_at) VALUES
    ('example.com', '1', 'version: STSv1', 1, 9), ('Example.net', '1', '', 1, 9);

INSERT INTO users (id, email, password, is_operator, created_at, address_proven) VALUES
    (x'01AC0000000000000000000000000001', 'one@example.com', '$argon2id$', 1, 1, 1),
    (x'01AC0000000000000000000000000002', 'two@example.com', NULL, 0, 2, 0);
INSERT INTO factors (user_id, kind, secret, last_step, created_at) VALUES
    (x'01AC0000000000000000000000000001', 'totp', x'0102', 3, 1);
INSERT INTO recovery_codes (user_id, hash, used_at) VALUES (x'01AC0000000000000000000000000001', zeroblob(32), NULL);
INSERT INTO memberships (user_id, account_id, role, created_at) VALUES
    (x'01AC0000000000000000000000000001', x'01A00000000000000000000000000001', 'owner', 1);
INSERT INTO sessions (id, hash, user_id, account_id, created_at, seen_at, verified_at, expires_at, ip, agent, acting_as) VALUES
    (x'01AD0000000000000000000000000001', zeroblob(32), x'01AC0000000000000000000000000001', NULL, 1, 1, 1, 9, '::1', '', NULL);
INSERT INTO one_time_links (hash, purpose, user_id, created_at, expires_at, is_shown, codes_tried) VALUES
    (zeroblob(32), 'set-up', NULL, 1, 9, 1, 2);
INSERT INTO audit (created_at, account_id, actor, actor_id, actor_name, action, subject, ip, acting) VALUES
    (1, NULL, 'command-line', NULL, NULL, 'create_account', 'a', NULL, 0),
    (2, x'01A00000000000000000000000000001', 'user', x'01AC0000000000000000000000000001', 'one@example.com', 'change', NULL,
     '::1', 1);

INSERT INTO plugin_slots (slot, generation, state) VALUES ('liquid-renderer', 3, '{}');
INSERT INTO plugin_blobs (digest, kept_at, bytes) VALUES ('sha256:00', 1, x'00');
INSERT INTO inbox (recipient, recipient_key, sender, sender_name, return_path, subject, received_at, size, raw) VALUES
    ('Ada@example.com', 'ada@example.com', 'hello@sandbox.test', '', '', 'Hello', 1, 2, x'0D0A');
UPDATE inbox_total SET messages = 1, bytes = 2;
