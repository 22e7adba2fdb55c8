//! What holds in the store of a server at any moment, also where it was killed.

use crate::database::{Database, Sql, either};

impl Database {
    /// Money and messages agree, whatever has happened.
    ///
    /// # Panics
    /// They do not.
    pub async fn assert_sound(&self) {
        let both = UNSOUND.into_iter().map(|(what, sql)| (what, Sql::from(sql)));
        for (what, sql) in both.chain(unsound_in_other_words()) {
            assert_eq!(self.number(sql).await, 0, "{what}");
        }
    }
}

/// What must never be, and the query that counts it.
pub const UNSOUND: [(&str, &str); 13] = [
    (
        "a balance that is not the sum of its ledger",
        "SELECT count(*) FROM accounts a WHERE balance <>
           (SELECT coalesce(sum(amount), 0) FROM ledger l WHERE l.account_id = a.id)",
    ),
    (
        "a debit that is not what its messages cost",
        "SELECT count(*) FROM ledger l
         LEFT JOIN (SELECT debit, sum(credits) AS cost, count(*) AS paid FROM messages
                    WHERE debit IS NOT NULL GROUP BY debit) m ON m.debit = l.id
         WHERE kind = 'debit'
           AND (m.cost IS DISTINCT FROM -l.amount OR m.paid IS DISTINCT FROM l.messages)",
    ),
    (
        "a message without its debit",
        "SELECT count(*) FROM messages m WHERE credits > 0 AND NOT EXISTS
           (SELECT 1 FROM ledger l
            WHERE l.id = m.debit AND l.kind = 'debit' AND l.account_id = m.account_id)",
    ),
    (
        "a message without its body",
        "SELECT count(*) FROM messages m WHERE NOT EXISTS
           (SELECT 1 FROM bodies b WHERE b.message_id = coalesce(m.body_of, m.id))",
    ),
    (
        "a message whose last event is not its state",
        "SELECT count(*) FROM messages m WHERE state IS DISTINCT FROM
           (SELECT CASE e.type WHEN 1 THEN 'scheduled' WHEN 2 THEN 'queued' WHEN 3 THEN 'sending'
                               WHEN 4 THEN 'delivered' WHEN 5 THEN 'relayed' WHEN 6 THEN 'deferred'
                               WHEN 7 THEN 'bounced' WHEN 8 THEN 'failed' WHEN 9 THEN 'suppressed'
                               WHEN 10 THEN 'canceled' END
            FROM events e WHERE e.subject = m.id ORDER BY sequence DESC LIMIT 1)",
    ),
    (
        "a message whose first event is not its acceptance",
        "SELECT count(*) FROM messages m WHERE
           (SELECT type FROM events e WHERE e.subject = m.id ORDER BY sequence LIMIT 1)
           NOT IN (1, 2, 9)",
    ),
    (
        "a message that no list finds, or a count that is not that of the messages",
        "SELECT (SELECT count(*) FROM messages m WHERE NOT EXISTS
                   (SELECT 1 FROM periods p WHERE p.account_id = m.account_id AND p.period = m.period))
              + abs((SELECT coalesce(sum(changes), 0) FROM sent WHERE state = 'accepted')
                    - (SELECT count(*) FROM messages))",
    ),
    (
        "a queue of another length than is told",
        "SELECT abs((SELECT coalesce(sum(value), 0) FROM totals WHERE name = 'queue')
                    - (SELECT count(*) FROM queue))",
    ),
    (
        "a message that waits for something and is not in the queue",
        "SELECT count(*) FROM messages m
         WHERE state IN ('scheduled', 'queued', 'sending', 'deferred')
           AND NOT EXISTS (SELECT 1 FROM queue q WHERE q.message_id = m.id)",
    ),
    (
        "a message that rests and is still in the queue",
        "SELECT count(*) FROM messages m JOIN queue q ON q.message_id = m.id
         WHERE state NOT IN ('scheduled', 'queued', 'sending', 'deferred')",
    ),
    (
        "a canceled message that was not refunded",
        "SELECT count(*) FROM messages m WHERE state = 'canceled' AND credits <>
           (SELECT coalesce(sum(amount), 0) FROM ledger l
            WHERE l.message_id = m.id AND kind = 'refund')",
    ),
    (
        "a refund of a message that has left",
        "SELECT count(*) FROM messages m JOIN ledger l ON l.message_id = m.id AND kind = 'refund'
         WHERE state IN ('delivered', 'relayed')",
    ),
    ("a message without a reason", "SELECT count(*) FROM messages WHERE trim(reason) = ''"),
];

/// Likewise, where SQLite and PostgreSQL have no common words for it.
fn unsound_in_other_words() -> [(&'static str, Sql); 2] {
    // Several who write beside each other on PostgreSQL take their numbers before they lock the account: its ledger is one
    // chain from `last_entry` back, and not always in the order of the numbers.
    let chain = either(
        "SELECT count(*) FROM ledger l WHERE previous IS NOT
           (SELECT max(e.id) FROM ledger e WHERE e.account_id = l.account_id AND e.id < l.id)",
        "WITH RECURSIVE chain (account_id, id) AS
           (SELECT id, last_entry FROM accounts WHERE last_entry IS NOT NULL
            UNION
            SELECT c.account_id, l.previous FROM chain c JOIN ledger l ON l.id = c.id
            WHERE l.previous IS NOT NULL)
         SELECT (SELECT count(*) FROM ledger)
              - (SELECT count(*) FROM chain c
                 JOIN ledger l ON l.id = c.id AND l.account_id = c.account_id)",
    );
    let decisions = either(
        "SELECT count(*) FROM messages m WHERE json_array_length(decisions) = 0 OR EXISTS
           (SELECT 1 FROM json_each(m.decisions) d WHERE NOT EXISTS
              (SELECT 1 FROM plugin_identities i WHERE i.id = d.value ->> 0))",
        "SELECT count(*) FROM messages m
         WHERE json_array_length(CAST(decisions AS JSON)) = 0 OR EXISTS
           (SELECT 1 FROM json_array_elements(CAST(m.decisions AS JSON)) d (value) WHERE NOT EXISTS
              (SELECT 1 FROM plugin_identities i WHERE i.id = CAST(d.value ->> 0 AS BIGINT)))",
    );
    [
        ("a row of the ledger that does not name the one before it", chain),
        ("a message without its decision, or with one of nobody", decisions),
    ]
}
