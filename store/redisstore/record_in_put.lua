-- After record_in_if.lua. ARGV[3] is the version, ARGV[4] the value. The name is there when the
-- record is, unless it was lost: then it comes back.
redis.call('ZADD', KEYS[2], 0, ARGV[1])
local t = redis.call('TIME')
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3] .. struct.pack('>I4I4', t[1], t[2]) .. ARGV[4])
return 1
