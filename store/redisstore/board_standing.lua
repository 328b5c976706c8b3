-- Reads one standing, as fast as can be: what is answered is one text, since a list of several
-- takes longer than the commands here do. KEYS: info, entries, standings: see board.lua. ARGV:
-- the key; and a second one, whatever it is, when equal scores share their rank.
-- Answers "=" without more when the key has no entry, or "=", the order, the count of what is
-- better, and, each behind a colon, the life, unless entries have metadata, and what is stored.
local call = redis.call
local board = call('HMGET', KEYS[1], 'order', 'count', 'life', 'meta')
local order = board[1]
if not order then
	return 'none'
end
local value = call('HGET', KEYS[2], ARGV[1])
local count = tonumber(board[2])
if call('HLEN', KEYS[2]) ~= count or call('ZCARD', KEYS[3]) ~= count then
	return 'damaged: entries or standings'
end
if not value then
	return '='
end
local better
if ARGV[2] then
	better = call('ZLEXCOUNT', KEYS[3], '-', '(' .. string.sub(value, 1, 8))
else
	better = call('ZRANK', KEYS[3], string.sub(value, 1, 16) .. ARGV[1])
	if not better then
		return 'damaged: an entry has no standing'
	end
end
return '=' .. order .. better .. ':' .. (not board[4] and board[3] or '') .. ':' .. value
