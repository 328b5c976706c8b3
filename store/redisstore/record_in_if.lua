-- KEYS: values and order of a family. ARGV: the name in it, the condition as in record_if.lua.
local old = redis.call('HGET', KEYS[1], ARGV[1])
if ARGV[2] ~= '*' and ARGV[2] ~= string.sub(old or '', 1, 8) then
	return 0
end
