-- Makes the board unless there is one, and answers it and its life. ARGV: order, generation,
-- life; an empty life makes none.
local call = redis.call
if call('EXISTS', KEYS[1]) == 0 then
	if ARGV[3] == '' then
		return 'none'
	end
	call('UNLINK', unpack(KEYS))
	call('HSET', KEYS[1], 'order', ARGV[1], 'generation', ARGV[2], 'life', ARGV[3],
		'count', 0, 'sequence', '\0\0\0\0\0\0\0\0', 'hidden', 0)
end
local board = call('HMGET', KEYS[1], 'order', 'generation', 'count', 'sequence', 'sealed', 'hidden')
for key, count in pairs({[KEYS[2]] = board[3], [KEYS[4]] = board[6]}) do
	if call('HLEN', key) ~= tonumber(count) then
		return 'damaged: ' .. key
	end
end
if call('ZCARD', KEYS[3]) ~= tonumber(board[3]) then
	return 'damaged: ' .. KEYS[3]
end
return {board, call('HGET', KEYS[1], 'life')}
