-- Reads one standing, as fast as can be. KEYS: info, entries, standings: see board.lua. ARGV: the
-- key; whether equal scores share their rank. Answers the order, what is stored, and the rank.
local call = redis.call
local board = call('HMGET', KEYS[1], 'order', 'count')
if not board[1] then
	return 'none'
end
local value = call('HGET', KEYS[2], ARGV[1])
local count = tonumber(board[2])
if call('HLEN', KEYS[2]) ~= count or call('ZCARD', KEYS[3]) ~= count then
	return 'damaged: entries or standings'
end
if not value then
	return {board[1]}
end
local rank
if ARGV[2] == 'competition' then
	rank = call('ZLEXCOUNT', KEYS[3], '-', '(' .. string.sub(value, 1, 8))
else
	rank = call('ZRANK', KEYS[3], string.sub(value, 1, 16) .. ARGV[1])
	if not rank then
		return 'damaged: an entry has no standing'
	end
end
return {board[1], value, rank + 1}
