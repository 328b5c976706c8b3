-- What looking at a board, and putting it right, begins with: it asks less of the board than
-- board.lua, and knows the same keys. ARGV[1]: "look" or "repair".
local call, sub, read, pack = redis.call, string.sub, struct.unpack, struct.pack
local board = call('HMGET', KEYS[1], 'order', 'count', 'sequence', 'hidden')
if not board[1] then
	return 'none'
end
local repair, problems, newest = ARGV[1] == 'repair', {}, board[3]
if not newest or #newest ~= 8 then
	newest = '\0\0\0\0\0\0\0\0'
	problems[1] = 'the board has no sequence'
end

local function wrong(format, ...)
	problems[#problems + 1] = string.format(format, ...)
end

-- illegible tells that what is stored of an entry is nothing that a script of ours has written.
local function illegible(value)
	return value and #value ~= 16 and #value < 32
end

-- see takes in the sequence of an entry.
local function see(key, sequence)
	local high, low = read('>I4I4', sequence)
	local newHigh, newLow = read('>I4I4', newest)
	if high > newHigh or high == newHigh and low > newLow then
		wrong('%s: its sequence is one that the board has not given', key)
		newest = sequence
	end
end

-- done ends a repair. The sequence grows, so that caches notice; and versions from before can
-- no longer be told.
local function done()
	if not repair or #problems == 0 then
		return
	end
	local high, low = read('>I4I4', newest)
	low = low + 1
	if low == 4294967296 then
		high, low = high + 1, 0
	end
	call('HSET', KEYS[1], 'sequence', pack('>I4I4', high, low))
	call('HDEL', KEYS[1], 'walk')
	call('UNLINK', KEYS[5])
end

