-- Reads or changes the list of boards, a ZSET of names and lives. ARGV: "add" or "remove" and a
-- member, or "read", a first and a last bound, and how many.
if ARGV[1] == 'add' then
	return {redis.call('ZADD', KEYS[1], 0, ARGV[2])}
elseif ARGV[1] == 'remove' then
	return {redis.call('ZREM', KEYS[1], ARGV[2])}
end
return redis.call('ZRANGE', KEYS[1], ARGV[2], ARGV[3], 'BYLEX', 'LIMIT', 0, ARGV[4])
