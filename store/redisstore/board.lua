-- What every script on a board begins with. Its keys, always in this order, are
--   1 info      HASH  what the board is: see below
--   2 entries   HASH  key -> place(8) sequence(8) [stamp(16) [metadata]]
--   3 standings ZSET  score 0, place(8) sequence(8) key: the order of the board is that of the bytes
--   4 hidden    HASH  key -> as in entries, or nothing when it has no entry; never in entries, too
--   5 moved     ZSET  score 0, the log of walks: see board_log.lua
--   6 sources   HASH  source -> number(8) of its last batch of sums
--   7 used      ZSET  source, by the count of batches when it was used last
--
-- Numbers of 64 bits are big-endian bytes, or two halves of 32: a Lua number holds 53. Strings
-- are never compared by < and >, which go by the locale of the server.
local call, read, pack, sub = redis.call, struct.unpack, struct.pack, string.sub

local board = call('HMGET', KEYS[1], 'order', 'generation', 'count', 'sequence', 'sealed', 'hidden', 'meta', 'walk')
if not board[1] then
	return 'none'
end

-- damaged says that parts of the board do not fit together.
local function damaged(what)
	return 'damaged: ' .. what
end

if not board[4] or #board[4] ~= 8 then
	return damaged('sequence')
end
if board[8] and #board[8] ~= 32 then
	board[8] = false -- a log that cannot be read is none
end
if call('ZCARD', KEYS[3]) ~= tonumber(board[3]) then
	return damaged('standings')
end
if call('HLEN', KEYS[2]) ~= tonumber(board[3]) then
	return damaged('entries')
end

