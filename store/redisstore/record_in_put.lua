-- After record_in_if.lua. ARGV[3] is the version, ARGV[4] the value.
if not old then
	redis.call('ZADD', KEYS[2], 0, ARGV[1])
end
local t = redis.call('TIME')
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3] .. struct.pack('>I4I4', t[1], t[2]) .. ARGV[4])
return 1
