-- Reads standings. ARGV: rank mode; how much a dense rank may look at; then "page", offset and
-- last offset, or "around", key and reach, or "standing" and key.
-- Answers the board, the offset of the first entry, its rank (-1: too deep), the members, and
-- the values of their entries when some have metadata.
local mode, word, first, final = ARGV[1], ARGV[3], 0, -1
local members = {}
if word == 'page' then
	first, final = tonumber(ARGV[4]), tonumber(ARGV[5])
else
	local value = call('HGET', KEYS[2], ARGV[4])
	if value then
		first = call('ZRANK', KEYS[3], sub(value, 1, 16) .. ARGV[4])
		if not first then
			return damaged('an entry has no standing')
		end
		final = first
		if word == 'around' then
			first, final = math.max(0, first - ARGV[5]), final + ARGV[5]
		else
			members = {sub(value, 1, 16) .. ARGV[4]}
		end
	end
end
if final >= first and #members == 0 then
	members = call('ZRANGE', KEYS[3], first, final)
end

-- dense counts the scores that are better, and jumps over ties.
local function dense(place)
	local seen, looked, at, size = 1, 0, '-', 8
	while true do
		local block, before, found = call('ZRANGE', KEYS[3], at, '+', 'BYLEX', 'LIMIT', 0, size), seen, nil
		for i = 1, #block do
			local p = sub(block[i], 1, 8)
			if p == place then
				return seen
			end
			if p ~= found then
				found, seen = p, seen + 1
			end
		end
		looked = looked + #block + 4
		if #block == 0 or looked > tonumber(ARGV[2]) then
			return -1
		end
		at = '[' .. found .. '\255'
		if (seen - before) * 4 < size then
			size = math.max(1, math.floor(size / 4))
		else
			size = math.min(256, size * 4)
		end
	end
end

local rank = first + 1
if #members > 0 and first > 0 then
	local place = sub(members[1], 1, 8)
	if mode == 'competition' then
		rank = call('ZLEXCOUNT', KEYS[3], '-', '(' .. place) + 1
	elseif mode == 'dense' then
		rank = dense(place)
	end
end

local values = {}
if board[7] and #members > 0 then
	local keys = {}
	for i = 1, #members do
		keys[i] = sub(members[i], 17)
	end
	values = call('HMGET', KEYS[2], unpack(keys))
end
return {board, first, rank, members, values}
