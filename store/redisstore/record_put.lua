-- KEYS: some records. ARGV: for each a condition as in record_if.lua, a version, a value.
-- It answers for each 1 for done, 0 when the condition does not hold, -1 when something else
-- stands there.
--
-- Several at once cost little more than half of what each alone does, and one MSET less than a SET
-- for each. It cannot fail: the server had room, and what is no string is left alone.
local call, pcall = redis.call, redis.pcall
local old, t = {}, call('TIME')
for i = 1, #KEYS do
	old[i] = pcall('GETRANGE', KEYS[i], 0, 7)
end
local stamp, put, n = struct.pack('>I4I4', t[1], t[2]), {}, 0
for i = 1, #KEYS do
	local wanted = ARGV[3 * i - 2]
	if type(old[i]) == 'table' then -- an error
		old[i] = -1
	elseif wanted == '*' or wanted == old[i] then
		put[n + 1], put[n + 2] = KEYS[i], ARGV[3 * i - 1] .. stamp .. ARGV[3 * i]
		n, old[i] = n + 2, 1
	else
		old[i] = 0
	end
end
if n > 0 then
	call('MSET', unpack(put, 1, n))
end
return old
