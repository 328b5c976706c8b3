-- Reads a stretch of a walk. ARGV: ahead; the version(8), empty for the present one; from where
-- (a bound of ZRANGE BYLEX, or "cursor": the position of the last argument); how many entries to look at when the version is the present one, and
-- how many entries and rows of the log otherwise; a score with its sign bit turned, and a
-- sequence.
-- Answers the board, the clock, whether the log is whole, members, the values of their
-- entries when some have metadata, rows, and the versions that are walked (see board_keep.lua).
local from = ARGV[3]
if from == 'cursor' then
	local high, low = read('>I4I4', ARGV[6])
	if board[1] == 'd' then
		high, low = 4294967295 - high, 4294967295 - low
	end
	from = '[' .. pack('>I4I4', high, low) .. sub(ARGV[6], 9)
end
local present = ARGV[2] == '' or ARGV[2] == board[4]
local limit = tonumber(present and ARGV[4] or ARGV[5])
local t = call('TIME')
local whole, members, values, rows = 0, {}, {}, {}
if board[8] and call('ZCARD', KEYS[5]) == select(5, read('>I4I4I4I4I4', board[8])) then
	whole = 1
end
if limit > 0 then
	members = call('ZRANGE', KEYS[3], from, '+', 'BYLEX', 'LIMIT', 0, limit)
end
if not present and limit > 0 then
	rows = call('ZRANGE', KEYS[5], from, '+', 'BYLEX', 'LIMIT', 0, limit)
	if #rows == limit then -- all of the last position
		local final = rows[limit]
		local more = call('ZRANGE', KEYS[5], '(' .. final, '[' .. sub(final, 1, 16) .. string.rep('\255', 9), 'BYLEX')
		for i = 1, #more do
			rows[limit + i] = more[i]
		end
	end
end
if board[7] and #members > 0 then
	local keys = {}
	for i = 1, #members do
		keys[i] = sub(members[i], 17)
	end
	values = call('HMGET', KEYS[2], unpack(keys))
end
return {board, t[1] * 1000000 + t[2] + ARGV[1], whole, members, values, rows, call('HGET', KEYS[1], 'walked') or ''}
