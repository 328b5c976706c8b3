-- Merges a batch. ARGV: three of the log; the rule; how many entries; whether some have
-- metadata; source, number(8) and how many sources are kept, for sums; the numbers of all entries in one
-- string, each the score with its sign bit turned (8) and, under last, the stamp (16); the
-- keys; the metadata of each.
-- Answers the order, and for each entry the effect (1) and its former place (8). The effects are
-- those of store.Effect, and 0 when it was counted before and there is no entry.
if board[5] then
	return 'sealed'
end
local rule, n, withMeta, numbers = ARGV[4], tonumber(ARGV[5]), ARGV[6] == 'true', ARGV[10]
local firstKey, firstMeta, room = 11, 11 + n, 4294967295
local descending, last, sum = board[1] == 'd', rule == 'last', rule == 'sum'
local anyHidden, width = change.hidden > 0, last and 24 or 8
local nowhere, noStamp = '\0\0\0\0\0\0\0\0', '\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0'
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

local answer = {}
local unranked, ranked, stored = change.unranked, change.ranked, change.stored
local created = 0

-- merge decides about the entry i with the stored value, which may be hidden.
local function merge(i, key, value, aside)
	if counted then
		answer[2 * i - 1], answer[2 * i] = value and '\1' or '\0', value and sub(value, 1, 8) or nowhere
		return
	end
	local at, stamp = (i - 1) * width + 1, ''
	local high, low = read('>I4I4', numbers, at)
	if descending then
		high, low = room - high, room - low
	end
	if not value then
		answer[2 * i - 1], answer[2 * i] = '\2', nowhere
		if last then
			stamp = sub(numbers, at + 8, at + 23)
		end
		if not aside then
			created = created + 1
		end
	else
		local oldHigh, oldLow = read('>I4I4', value)
		answer[2 * i] = sub(value, 1, 8)
		local same = false
		if sum then
			low = low + oldLow + (descending and 1 or 0)
			high = high + oldHigh - 2147483648
			if low > room then
				low, high = low - 4294967296, high + 1
			end
			if high < 0 or high > room then
				answer[2 * i - 1] = '\4'
				return
			end
			same = high == oldHigh and low == oldLow
			stamp = sub(value, 17, 32)
		elseif last then
			stamp = sub(numbers, at + 8, at + 23)
			local e1, e2, r1, r2 = 0, 0, 0, 0
			if #value > 16 then
				e1, e2, r1, r2 = read('>I4I4I4I4', value, 17)
			end
			local f1, f2, s1, s2 = read('>I4I4I4I4', stamp)
			local newer
			if f1 ~= e1 then newer = f1 > e1
			elseif f2 ~= e2 then newer = f2 > e2
			elseif s1 ~= r1 then newer = s1 > r1
			else newer = s2 > r2 end
			if not newer then
				answer[2 * i - 1] = '\1'
				return
			end
			if high == oldHigh and low == oldLow then
				answer[2 * i - 1] = '\1'
				local list = aside and change.kept or stored
				list[#list + 1] = key
				list[#list + 1] = sub(value, 1, 16) .. stamp .. sub(value, 33)
				return
			end
		else
			if high > oldHigh or high == oldHigh and low >= oldLow then
				answer[2 * i - 1] = '\1'
				return
			end
			stamp = sub(value, 17, 32)
		end
		if same then
			answer[2 * i - 1] = '\1'
			return
		end
		answer[2 * i - 1] = '\3'
	end
	raise()
	local position = pack('>I4I4I4I4', high, low, highSequence, lowSequence)
	if value and not aside then
		if log then
			leaves(key, value, sub(position, 9))
		else
			unranked[#unranked + 1] = sub(value, 1, 16) .. key
		end
	end
	local whole = position .. stamp
	if withMeta then
		local meta = ARGV[firstMeta + i - 1]
		if meta ~= '' then
			whole, change.meta = position .. (stamp == '' and noStamp or stamp) .. meta, '1'
		end
	end
	if aside then
		change.kept[#change.kept + 1] = key
		change.kept[#change.kept + 1] = whole
		return
	end
	local k = #ranked
	ranked[k + 1], ranked[k + 2] = 0, position .. key
	stored[#stored + 1] = key
	stored[#stored + 1] = whole
end

for from = 1, n, 4000 do
	local to = math.min(from + 3999, n)
	local values = call('HMGET', KEYS[2], unpack(ARGV, firstKey + from - 1, firstKey + to - 1))
	local aside = anyHidden and call('HMGET', KEYS[4], unpack(ARGV, firstKey + from - 1, firstKey + to - 1))
	for i = from, to do
		local value, hidden = values[i - from + 1], aside and aside[i - from + 1]
		if hidden and hidden ~= '' then
			value = hidden
		end
		merge(i, ARGV[firstKey + i - 1], value, hidden)
	end
end

if sum and not counted then
	local sources = call('HLEN', KEYS[6])
	call('HSET', KEYS[6], ARGV[7], ARGV[8])
	call('ZADD', KEYS[7], batches + 1, ARGV[7])
	if newSource and sources + 1 > tonumber(ARGV[9]) then
		call('HDEL', KEYS[6], call('ZPOPMIN', KEYS[7])[1])
	end
end
if #stored + #change.kept > 0 then
	change.count = change.count + created
	apply()
end
return {board[1], table.concat(answer)}
