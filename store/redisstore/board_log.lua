-- Changes of a board.
--
-- While somebody walks, the board logs what leaves a position, with the versions in which it
-- stood there: a member of moved is
--   place(8) sequence(8) at(8) since(8) length(1) key metadata
-- for what stood there in the versions from since to before at. An entry that is shown again
-- stands at its old position from a version on that is not its sequence: a row with at = open
-- says so, and is closed when it leaves. The field walk of the info is the state of the log:
-- the version from which it is complete, the last one that somebody walks, its rows, how many
-- of them are open, and when somebody walked last (microseconds of this server's clock).
local open = '\255\255\255\255\255\255\255\255'
local counted = call('HLEN', KEYS[4])
if counted ~= tonumber(board[6]) then
	return damaged('hidden')
end

local highSequence, lowSequence = read('>I4I4', board[4])

-- raise gives the next sequence, as two halves.
local function raise()
	lowSequence = lowSequence + 1
	if lowSequence == 4294967296 then
		highSequence, lowSequence = highSequence + 1, 0
	end
	return highSequence, lowSequence
end

-- illegible tells that what is stored of an entry is nothing that a script of ours has written.
local function illegible(value)
	return value and #value ~= 16 and #value < 32
end

-- now is the server's clock in microseconds, and ahead more.
local function now(ahead)
	local t = call('TIME')
	return t[1] * 1000000 + t[2] + ahead
end

-- What is to be written: the rest of it is in the lists of todo.
local count, hiddens, withMeta, opened = tonumber(board[3]), counted, board[7], 0
local todo

local function nothing()
	todo = {
		unranked = {}, ranked = {}, -- members of standings; what is ranked with its score
		gone = {}, stored = {},     -- keys of entries; keys and values
		shown = {}, kept = {},      -- keys of hidden; keys and values
		closed = {}, logged = {},   -- rows of moved; what is logged with its score
	}
end

nothing()

-- log is the log of walks, nil when there is none.
local log
if board[8] then
	log = {}
	log.fromHigh, log.fromLow, log.uptoHigh, log.uptoLow, log.rows, log.open, log.called = read('>I4I4I4I4I4I4d', board[8])
	if now(tonumber(ARGV[1])) - log.called > tonumber(ARGV[2]) or call('ZCARD', KEYS[5]) ~= log.rows then
		log = nil -- its time is over
	end
end

-- wanted tells that a walk may go back to a version from since on.
local function wanted(since)
	local high, low = read('>I4I4', since)
	return high < log.uptoHigh or high == log.uptoHigh and low <= log.uptoLow
end

-- leaves takes the entry with this value out of the standings, at the version.
local function leaves(key, value, version)
	local position = #value > 16 and sub(value, 1, 16) or value
	todo.unranked[#todo.unranked + 1] = position .. key
	if not log then
		return
	end
	local since = sub(value, 9, 16)
	if log.open + opened > 0 then
		local row = call('ZRANGE', KEYS[5], '[' .. position .. open, '(' .. position .. open .. '\255', 'BYLEX', 'LIMIT', 0, 1)[1]
		if row then
			since = sub(row, 25, 32)
			todo.closed[#todo.closed + 1] = row
			opened = opened - 1
		end
	end
	if wanted(since) then
		local n = #todo.logged
		todo.logged[n + 1] = 0
		todo.logged[n + 2] = position .. version .. since .. string.char(#key) .. key .. sub(value, 33)
	end
end

-- returns puts a hidden entry back into the standings, at the version.
local function returns(key, value, version)
	local position = sub(value, 1, 16)
	local n = #todo.ranked
	todo.ranked[n + 1], todo.ranked[n + 2] = 0, position .. key
	if log and wanted(sub(value, 9, 16)) then
		n = #todo.logged
		todo.logged[n + 1] = 0
		todo.logged[n + 2] = position .. open .. version .. string.char(#key) .. key
		opened = opened + 1
	end
end

-- each calls a command with some thousand arguments at a time.
local function each(command, key, list)
	for i = 1, #list, 4000 do
		call(command, key, unpack(list, i, math.min(i + 3999, #list)))
	end
end

-- write writes the lists and empties them. From its first call on nothing can fail: what can be
-- wrong with the keys has shown when they were read, and memory is looked at when a script begins.
local function write()
	each('ZREM', KEYS[3], todo.unranked)
	each('ZADD', KEYS[3], todo.ranked)
	each('HDEL', KEYS[2], todo.gone)
	each('HSET', KEYS[2], todo.stored)
	each('HDEL', KEYS[4], todo.shown)
	each('HSET', KEYS[4], todo.kept)
	if log then
		log.rows = log.rows - #todo.closed + #todo.logged / 2
		if log.rows > tonumber(ARGV[3]) then
			log = nil
		else
			each('ZREM', KEYS[5], todo.closed)
			each('ZADD', KEYS[5], todo.logged)
		end
	end
	nothing()
end

-- finish writes the lists and what the board says of itself.
local function finish()
	write()
	local fields = {'count', count, 'sequence', pack('>I4I4', highSequence, lowSequence), 'hidden', hiddens}
	if withMeta and not board[7] then
		fields[7], fields[8] = 'meta', 1
	end
	if log then
		fields[#fields + 1] = 'walk'
		fields[#fields + 1] = pack('>I4I4I4I4I4I4d', log.fromHigh, log.fromLow, log.uptoHigh, log.uptoLow, log.rows, log.open + opened, log.called)
		call('PEXPIRE', KEYS[5], math.ceil(ARGV[2] / 1000))
	elseif board[8] then
		call('UNLINK', KEYS[5])
		call('HDEL', KEYS[1], 'walk')
	end
	call('HSET', KEYS[1], unpack(fields))
end

