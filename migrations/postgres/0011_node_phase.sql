-- expand: a node of before says nothing here.
-- Why a node that is not `live` has no shares: it starts, it has another master key, or it stops. Versions of before know
-- that state as `draining`.
ALTER TABLE nodes ADD COLUMN phase TEXT CHECK (phase IN ('starting', 'keyless', 'draining'));
