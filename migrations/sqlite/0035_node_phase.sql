-- Why a node that is not `live` has no shares: it starts, it has another master key, or it stops. The one server of a file is
-- live from its start on.
ALTER TABLE nodes ADD COLUMN phase TEXT CHECK (phase IN ('starting', 'keyless', 'draining'));
