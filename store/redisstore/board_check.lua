-- Compares a stretch of the standings with the entries, or of the entries with the standings,
-- and puts it right: an entry decides where it stands. ARGV[2]: "standings", from where (a bound
-- of ZRANGE BYLEX), how many; or "entries", the cursor of HSCAN, how many. Answers where to go
-- on, empty at the end, and what is wrong.
if ARGV[2] == 'entries' then
	local scan = call('HSCAN', KEYS[2], ARGV[3], 'COUNT', ARGV[4])
	for i = 1, #scan[2], 2 do
		local key, value = scan[2][i], scan[2][i + 1]
		if illegible(value) then
			wrong('%s: its entry cannot be read', key)
			if repair then
				call('HDEL', KEYS[2], key)
			end
		elseif not call('ZSCORE', KEYS[3], sub(value, 1, 16) .. key) then
			wrong('%s: its entry has no standing', key)
			if repair then
				call('ZADD', KEYS[3], 0, sub(value, 1, 16) .. key)
			end
		end
	end
	done()
	return {scan[1] == '0' and '' or scan[1], problems}
end

local members = call('ZRANGE', KEYS[3], ARGV[3], '+', 'BYLEX', 'LIMIT', 0, ARGV[4])
if #members == 0 then
	return {'', problems}
end
local keys = {}
for i = 1, #members do
	keys[i] = sub(members[i], 17)
end
local values = call('HMGET', KEYS[2], unpack(keys))
for i = 1, #members do
	local member, key, value = members[i], keys[i], values[i]
	if #member < 17 then
		wrong('a standing cannot be read')
		if repair then
			call('ZREM', KEYS[3], member)
		end
	elseif not value or illegible(value) then
		wrong(value and '%s: its entry cannot be read' or '%s: its standing has no entry', key)
		if repair then
			call('HSET', KEYS[2], key, sub(member, 1, 16))
		end
	elseif sub(value, 1, 16) ~= sub(member, 1, 16) then
		wrong('%s: it stands where its entry does not', key)
		if repair then
			call('ZREM', KEYS[3], member)
		end
	else
		see(key, sub(member, 9, 16))
	end
end
done()
return {'(' .. members[#members], problems}
