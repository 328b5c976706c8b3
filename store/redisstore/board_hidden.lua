-- All hidden keys with what they have.
if call('HLEN', KEYS[4]) ~= tonumber(board[6]) then
	return damaged('hidden')
end
return {board, call('HGETALL', KEYS[4])}
