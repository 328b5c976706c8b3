-- KEYS: values of a family. ARGV: names in it. It answers the time, and their frames.
local found = redis.call('TIME')
for i, name in ipairs(ARGV) do
	found[i + 2] = redis.call('HGET', KEYS[1], name)
end
return found
