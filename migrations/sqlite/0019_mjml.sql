-- What the MJML of a version was compiled to, by which compiler, with what warnings, as JSON; null where it has none.
ALTER TABLE template_versions ADD COLUMN compiled TEXT;
