-- Until when a node has a delivery in its hands, by the database's clock. The one server of a file knows by itself what it
-- is posting: there it is null.
ALTER TABLE webhook_deliveries ADD COLUMN leased_until INTEGER;
