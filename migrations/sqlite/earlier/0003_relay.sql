-- Messages that came whole over SMTP: several recipients share one body, and the envelope's sender
-- may be another address than the author's, or none.

-- The message whose body this one has; its own where it is null.
ALTER TABLE messages ADD COLUMN body_of TEXT REFERENCES messages (id);
-- Where bounces go: to the author where it is null, nowhere where it is empty.
ALTER TABLE messages ADD COLUMN return_path TEXT;
