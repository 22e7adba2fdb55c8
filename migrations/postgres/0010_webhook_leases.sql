-- expand: a node before it posts without a lease, and may repeat a post.
-- Until when a node has a delivery in its hands, by the database's clock. Where the time is over, or there is none, any node
-- may post it.
ALTER TABLE webhook_deliveries ADD COLUMN leased_until BIGINT;
