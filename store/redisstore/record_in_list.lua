-- KEYS: values and order of a family. ARGV: from and to as of ZRANGEBYLEX, how many names, and how
-- many bytes of values are enough. It answers the time, 1 when it ended early and else 0, and
-- names and frames in turn.
local found = redis.call('TIME')
local names = redis.call('ZRANGEBYLEX', KEYS[2], ARGV[1], ARGV[2], 'LIMIT', 0, ARGV[3])
local bytes, enough = 0, tonumber(ARGV[4])
found[3] = 0
for i, name in ipairs(names) do
	local frame = redis.call('HGET', KEYS[1], name)
	found[#found + 1] = name
	found[#found + 1] = frame
	bytes = bytes + #(frame or '')
	if bytes >= enough and i < #names then
		found[3] = 1
		break
	end
end
return found
