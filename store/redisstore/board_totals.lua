-- Compares what a board says of itself with what there is, and puts it right. Answers how many
-- entries there are, hidden ones too, and what is wrong.
local hidden, scored = call('HGETALL', KEYS[4]), 0
for i = 1, #hidden, 2 do
	local key, aside = hidden[i], hidden[i + 1]
	local value = call('HGET', KEYS[2], key)
	if value then
		wrong('%s: it is hidden, and ranked', key)
		if repair then
			call('ZREM', KEYS[3], sub(value, 1, 16) .. key)
			call('HDEL', KEYS[2], key)
			call('HSET', KEYS[4], key, value)
		end
		aside = value
	end
	if aside ~= '' and illegible(aside) then
		wrong('%s: its hidden entry cannot be read', key)
		if repair then
			call('HSET', KEYS[4], key, '')
		end
	elseif aside ~= '' then
		scored = scored + 1
		see(key, sub(aside, 9, 16))
	end
end
for _, range in ipairs({{'-inf', '(0'}, {'(0', '+inf'}}) do
	local members = call('ZRANGEBYSCORE', KEYS[3], range[1], range[2], 'LIMIT', 0, 1000)
	for i = 1, #members do
		wrong('%s: its standing has a score', sub(members[i], 17))
		if repair then
			call('ZADD', KEYS[3], 0, members[i])
		end
	end
end
local standings, entries = call('ZCARD', KEYS[3]), call('HLEN', KEYS[2])
if standings ~= entries then
	wrong('there are %d entries and %d standings', entries, standings)
end
if standings ~= tonumber(board[2]) then
	wrong('the board says %s entries, there are %d', tostring(board[2]), standings)
end
if #hidden / 2 ~= tonumber(board[4]) then
	wrong('the board says %s hidden keys, there are %d', tostring(board[4]), #hidden / 2)
end
if repair and #problems > 0 then
	call('HSET', KEYS[1], 'count', standings, 'hidden', #hidden / 2)
end
done()
return {entries + scored, problems}
