-- Which components recorded calls name, without reading the calls.
CREATE INDEX samples_by_component ON samples (digest);
