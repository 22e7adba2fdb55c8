-- Templates, layouts and partials: a draft, versions, one of them published. A version holds the texts of its layout
-- and partials as they were when it was published.
--
-- A table cannot be told that a column may be null: `templates` is made anew. Its rows come back with their
-- identifiers before the transaction ends, so what refers to them may wait until then.
PRAGMA defer_foreign_keys = ON;

CREATE TABLE templates_before AS SELECT id, account_id, slug, published_revision, created_at FROM templates;
DROP TABLE templates;
CREATE TABLE templates (
    id                 BLOB PRIMARY KEY NOT NULL,
    -- Null for a layout or a partial of the server, which all accounts share.
    account_id         BLOB REFERENCES accounts (id),
    kind               TEXT NOT NULL DEFAULT 'template' CHECK (kind IN ('template', 'layout', 'partial')),
    slug               TEXT NOT NULL,
    -- The source as its author left it, as JSON; null where the published version is the newest.
    draft              TEXT,
    draft_at           INTEGER,
    -- A key, or `cli`.
    draft_by           TEXT,
    -- Moves with each change: an author whose change was made on an older one is told so.
    edition            INTEGER NOT NULL DEFAULT 1,
    -- Null until it is published.
    published_revision INTEGER,
    -- Since when it cannot be sent, or used by others.
    archived_at        INTEGER,
    -- Whether it was ever sent: then it is archived, and not deleted.
    is_sent            INTEGER NOT NULL DEFAULT 0 CHECK (is_sent IN (0, 1)),
    created_at         INTEGER NOT NULL,
    CHECK (account_id IS NOT NULL OR kind <> 'template'),
    CHECK (published_revision IS NOT NULL OR draft IS NOT NULL)
) STRICT;
-- An account has a name once in each kind; where there is no account, nulls are unlike each other.
CREATE UNIQUE INDEX templates_of_owner ON templates (account_id, kind, slug);
CREATE UNIQUE INDEX templates_of_server ON templates (kind, slug) WHERE account_id IS NULL;
-- Nobody has counted until now which of them were sent.
INSERT INTO templates (id, account_id, slug, published_revision, is_sent, created_at)
    SELECT id, account_id, slug, published_revision, 1, created_at FROM templates_before;
DROP TABLE templates_before;

-- Who published it: a key, or `cli`; null where an earlier version of the server did.
ALTER TABLE template_versions ADD COLUMN author TEXT;
-- Why, in the author's words.
ALTER TABLE template_versions ADD COLUMN note TEXT;
-- The layout and the partials, each with name, revision and source, as JSON.
ALTER TABLE template_versions ADD COLUMN blocks TEXT NOT NULL DEFAULT '{}';

-- The layouts and partials that a version was published with. Those who publish one of these find here which
-- templates it touches.
CREATE TABLE template_uses (
    block_id    BLOB NOT NULL REFERENCES templates (id),
    template_id BLOB NOT NULL,
    revision    INTEGER NOT NULL,
    PRIMARY KEY (block_id, template_id, revision),
    FOREIGN KEY (template_id, revision) REFERENCES template_versions (template_id, revision)
) STRICT, WITHOUT ROWID;
CREATE INDEX template_uses_of_version ON template_uses (template_id, revision);

-- Messages of a template accepted a day: whom a change would break.
CREATE TABLE template_usage (
    day        INTEGER NOT NULL,
    account_id BLOB NOT NULL,
    slug       TEXT NOT NULL,
    sent       INTEGER NOT NULL,
    PRIMARY KEY (day, account_id, slug)
) STRICT, WITHOUT ROWID;
-- The first message of a day, so that the others cost nothing.
CREATE TRIGGER template_is_sent AFTER INSERT ON template_usage BEGIN
    UPDATE templates SET is_sent = 1
    WHERE account_id = NEW.account_id AND kind = 'template' AND slug = NEW.slug AND is_sent = 0;
END;

-- Only what a send reads moves the revision: drafts do not.
CREATE TRIGGER template_added AFTER INSERT ON templates
WHEN NEW.kind = 'template' AND NEW.published_revision IS NOT NULL
BEGIN
    UPDATE revision SET value = value + 1;
    UPDATE accounts SET facts_revision = (SELECT value FROM revision) WHERE id = NEW.account_id;
END;
CREATE TRIGGER template_changed AFTER UPDATE OF slug, published_revision, archived_at ON templates
WHEN NEW.kind = 'template'
BEGIN
    UPDATE revision SET value = value + 1;
    UPDATE accounts SET facts_revision = (SELECT value FROM revision) WHERE id = NEW.account_id;
END;
CREATE TRIGGER template_removed AFTER DELETE ON templates WHEN OLD.kind = 'template'
BEGIN
    UPDATE revision SET value = value + 1;
    UPDATE accounts SET facts_revision = (SELECT value FROM revision) WHERE id = OLD.account_id;
END;

-- A layout stood as a text in each version that it surrounds. Each text becomes a layout of its account.
CREATE TABLE layouts_before AS
    SELECT unhex(printf('%012X', min(v.created_at)) || hex(randomblob(10))) AS id, t.account_id,
           row_number() OVER (PARTITION BY t.account_id ORDER BY min(v.created_at), v.source ->> '$.layout') AS number,
           v.source ->> '$.layout' AS html, min(v.created_at) AS created_at
    FROM templates t JOIN template_versions v ON v.template_id = t.id
    WHERE v.source ->> '$.layout' IS NOT NULL
    GROUP BY t.account_id, v.source ->> '$.layout';
INSERT INTO templates (id, account_id, kind, slug, published_revision, created_at)
    SELECT id, account_id, 'layout', iif(number = 1, 'base', 'base-' || number), 1, created_at
    FROM layouts_before;
INSERT INTO template_versions (template_id, revision, source, variables, created_at, note)
    SELECT l.id, 1, json_object('name', t.slug, 'description', '', 'subject', '', 'html', l.html, 'tags', json('[]')),
           '[]', l.created_at, 'made of the text that templates had'
    FROM layouts_before l JOIN templates t ON t.id = l.id;
INSERT INTO template_uses (block_id, template_id, revision)
    SELECT l.id, v.template_id, v.revision
    FROM layouts_before l
    JOIN templates t ON t.account_id = l.account_id AND t.kind = 'template'
    JOIN template_versions v ON v.template_id = t.id AND v.source ->> '$.layout' = l.html;
UPDATE template_versions SET
    blocks = (SELECT json_object('layout', json_object('name', b.slug, 'revision', 1, 'source', json(bv.source)))
              FROM template_uses u JOIN templates b ON b.id = u.block_id
              JOIN template_versions bv ON bv.template_id = b.id
              WHERE u.template_id = template_versions.template_id AND u.revision = template_versions.revision),
    source = json_set(source, '$.layout',
             (SELECT b.slug FROM template_uses u JOIN templates b ON b.id = u.block_id
              WHERE u.template_id = template_versions.template_id AND u.revision = template_versions.revision))
WHERE source ->> '$.layout' IS NOT NULL
  AND EXISTS (SELECT 1 FROM template_uses u
              WHERE u.template_id = template_versions.template_id AND u.revision = template_versions.revision);
DROP TABLE layouts_before;

-- One example becomes examples by name.
UPDATE template_versions SET source = json_remove(
    iif(coalesce(source -> '$.example', '{}') = '{}', source,
        json_set(source, '$.examples', json_object('default', json(source -> '$.example')))),
    '$.example');
