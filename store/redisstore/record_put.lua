-- KEYS: some records. ARGV: for each a condition as in record_if.lua, a version, a value.
-- It answers for each 1 for done, 0 when the condition does not hold, -1 when something else
-- stands there.
--
-- Several at once cost little more than half of what each alone does. None of them can fail
-- when the first has not: the server had room, and what is no string is left alone.
local old, t = {}, redis.call('TIME')
for i, key in ipairs(KEYS) do
	old[i] = redis.pcall('GETRANGE', key, 0, 7)
end
local stamp = struct.pack('>I4I4', t[1], t[2])
for i, key in ipairs(KEYS) do
	local wanted = ARGV[3 * i - 2]
	if type(old[i]) == 'table' then -- an error
		old[i] = -1
	elseif wanted == '*' or wanted == old[i] then
		redis.call('SET', key, ARGV[3 * i - 1] .. stamp .. ARGV[3 * i])
		old[i] = 1
	else
		old[i] = 0
	end
end
return old
