-- Ends the writes to the board, and answers it.
if call('HLEN', KEYS[4]) ~= tonumber(board[6]) then
	return damaged('hidden')
end
if not board[5] then
	board[5] = '1'
	call('HSET', KEYS[1], 'sealed', 1)
end
return {board}
