-- Values of more than about 2 KB are compressed; lz4 takes a fraction of the default's time.
ALTER TABLE {s}.records ALTER COLUMN value SET COMPRESSION lz4;
ALTER TABLE {s}.live ALTER COLUMN value SET COMPRESSION lz4;
