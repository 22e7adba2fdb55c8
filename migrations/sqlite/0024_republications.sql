-- When a version that had been published before was brought back, by whom and why. `template_versions` says it of the
-- first time.
CREATE TABLE template_republications (
    template_id BLOB    NOT NULL,
    revision    INTEGER NOT NULL,
    at          INTEGER NOT NULL,
    -- A key, a user, or `cli`.
    author      TEXT    NOT NULL,
    note        TEXT,
    FOREIGN KEY (template_id, revision) REFERENCES template_versions (template_id, revision)
) STRICT;
CREATE INDEX republications_of_version ON template_republications (template_id, revision, at);
