-- Merges a batch. ARGV: three of the log; the rule; how many entries; whether some have
-- metadata; source, number(8) and how many sources are kept, for sums; the numbers of all entries in one
-- string, each the score with its sign bit turned (8) and, under last, the stamp (16); the
-- keys; the metadata of each.
-- Answers the order, and for each entry a letter, and what was stored before: (k)ept, (n)ew,
-- (c)hanged, (o)verflow; then the sequence that the board had before, and its life,
-- unless entries have metadata. What is new or changed has the next sequences.
if board[5] then
	return 'sealed'
end
local rule, n, metas, numbers = ARGV[4], tonumber(ARGV[5]), ARGV[6] == 'true', ARGV[10]
local firstKey, firstMeta, room = 11, 11 + n, 4294967295
local descending, last, sum = board[1] == 'd', rule == 'last', rule == 'sum'
local anyHidden, width = hiddens > 0, last and 24 or 8
local noStamp = '\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0'
local counted, newSource, batches = false, false, 0

-- isCounted tells that the batch of sums with this number has been counted.
local function isCounted(before)
	if not before then
		return false
	end
	local high, low = read('>I4I4', before)
	local newHigh, newLow = read('>I4I4', ARGV[8])
	return newHigh < high or newHigh == high and newLow <= low
end

if sum then
	local before = call('HGET', KEYS[6], ARGV[7])
	counted, newSource = isCounted(before), not before
	batches = call('ZRANGE', KEYS[7], -1, -1, 'WITHSCORES')[2] or 0
end

-- All is read before anything is written, the number of a batch of sums included: what cannot be
-- read shows while there is a way back.
local effects, before, asides = {}, {}, {}
for from = 1, n, 1000 do
	local to = math.min(from + 999, n)
	local values = call('HMGET', KEYS[2], unpack(ARGV, firstKey + from - 1, firstKey + to - 1))
	local hidden = anyHidden and call('HMGET', KEYS[4], unpack(ARGV, firstKey + from - 1, firstKey + to - 1))
	for i = from, to do
		local value = values[i - from + 1]
		if hidden then
			asides[i] = hidden[i - from + 1]
			if asides[i] and asides[i] ~= '' then
				value = asides[i]
			end
		end
		if illegible(value) then
			return damaged('an entry cannot be read')
		end
		before[i] = value
	end
end
local changed = false

-- newer compares the stamp at a place of numbers with that of a value.
local function newer(at, value)
	local e1, e2, r1, r2 = 0, 0, 0, 0
	if #value > 16 then
		e1, e2, r1, r2 = read('>I4I4I4I4', value, 17)
	end
	local f1, f2, s1, s2 = read('>I4I4I4I4', numbers, at)
	if f1 ~= e1 then
		return f1 > e1
	elseif f2 ~= e2 then
		return f2 > e2
	elseif s1 ~= r1 then
		return s1 > r1
	end
	return s2 > r2
end

-- decide answers the new place of the entry i as two halves, none when it stays where it is, and
-- the stamp, if it has one. Value is what is stored, with an entry that may be hidden.
local function decide(i, value, aside)
	local at = (i - 1) * width + 1
	local high, low = read('>I4I4', numbers, at)
	if descending then
		high, low = room - high, room - low
	end
	local stamp = last and sub(numbers, at + 8, at + 23) or ''
	if not value then
		effects[i] = 'n'
		return high, low, stamp
	end
	local oldHigh, oldLow = read('>I4I4', value)
	effects[i] = 'k'
	if sum then
		low = low + oldLow + (descending and 1 or 0)
		high = high + oldHigh - 2147483648
		if low > room then
			low, high = low - 4294967296, high + 1
		end
		if high < 0 or high > room then
			effects[i] = 'o'
			return
		end
	elseif last then
		if not newer(at + 8, value) then
			return
		end
	elseif high > oldHigh or high == oldHigh and low > oldLow then
		return
	end
	if high == oldHigh and low == oldLow then
		if last then
			local list = aside and todo.kept or todo.stored
			list[#list + 1] = ARGV[firstKey + i - 1]
			list[#list + 1] = sub(value, 1, 16) .. stamp .. sub(value, 33)
			changed = true
		end
		return
	end
	effects[i] = 'c'
	return high, low, last and stamp or #value > 16 and sub(value, 17, 32) or ''
end

-- place gives the entry i its next sequence, and puts it at its new place.
local function place(i, value, aside, high, low, stamp)
	local key = ARGV[firstKey + i - 1]
	raise()
	local position = pack('>I4I4I4I4', high, low, highSequence, lowSequence)
	local whole = position .. stamp
	if metas and ARGV[firstMeta + i - 1] ~= '' then
		whole = position .. (stamp == '' and noStamp or stamp) .. ARGV[firstMeta + i - 1]
		withMeta = true
	end
	changed = true
	if aside then
		todo.kept[#todo.kept + 1] = key
		todo.kept[#todo.kept + 1] = whole
		return
	end
	if not value then
		count = count + 1
	elseif log then
		leaves(key, value, sub(position, 9))
	else
		todo.unranked[#todo.unranked + 1] = (#value > 16 and sub(value, 1, 16) or value) .. key
	end
	local ranked, stored = todo.ranked, todo.stored
	local k = #ranked
	ranked[k + 1], ranked[k + 2] = 0, position .. key
	k = #stored
	stored[k + 1], stored[k + 2] = key, whole
end

-- The number of a batch is taken before its entries: neither can fail from here on.
if sum and not counted then
	local sources = call('HLEN', KEYS[6])
	call('HSET', KEYS[6], ARGV[7], ARGV[8])
	call('ZADD', KEYS[7], batches + 1, ARGV[7])
	if newSource and sources + 1 > tonumber(ARGV[9]) then
		call('HDEL', KEYS[6], call('ZPOPMIN', KEYS[7])[1])
	end
end

-- Some at a time: what is put together for a batch of ten thousand does not fit into the caches
-- of a processor.
for from = 1, n, 1000 do
	for i = from, math.min(from + 999, n) do
		if counted then
			effects[i] = 'k'
		else
			local high, low, stamp = decide(i, before[i], asides[i])
			if high then
				place(i, before[i], asides[i], high, low, stamp)
			end
		end
	end
	write()
end

if changed then
	finish()
end
return {board[1], table.concat(effects), before, board[4], not (withMeta or board[7]) and call('HGET', KEYS[1], 'life') or ''}
