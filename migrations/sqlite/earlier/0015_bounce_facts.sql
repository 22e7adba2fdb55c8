-- What a bounce is told with, as a JSON object: code, enhanced, class, remoteHost, suppressed.
ALTER TABLE events ADD COLUMN facts TEXT;
