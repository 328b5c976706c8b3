-- After record_if.lua.
redis.call('DEL', KEYS[1])
return 1
