-- The recorded input and answer of a plugin's call, for a bounded number of calls. `sealed` is
-- encrypted by the server's master key and bound to its row's decision and kind.
CREATE TABLE samples (
    decision_id TEXT NOT NULL,
    kind        TEXT NOT NULL,
    slot        TEXT NOT NULL,
    digest      TEXT NOT NULL,
    outcome     TEXT NOT NULL CHECK (outcome IN ('answered', 'trapped')),
    sealed      BLOB NOT NULL,
    created_at  INTEGER NOT NULL,
    PRIMARY KEY (decision_id, kind)
) STRICT;
CREATE INDEX samples_of_slot ON samples (kind, slot, outcome, created_at);
CREATE INDEX samples_by_age ON samples (created_at);

-- Lists of refusals alone must not walk over all messages to find them.
CREATE INDEX refusals_by_id ON decisions (id) WHERE message_id IS NULL;
