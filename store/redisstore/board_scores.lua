-- The entries of the keys that ARGV names.
return {board, call('HMGET', KEYS[2], unpack(ARGV))}
