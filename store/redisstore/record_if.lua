-- KEYS: the record. ARGV: the condition, which is "*" for any, nothing for absent, or a version.
local old = redis.call('GETRANGE', KEYS[1], 0, 7)
if ARGV[1] ~= '*' and ARGV[1] ~= old then
	return 0
end
