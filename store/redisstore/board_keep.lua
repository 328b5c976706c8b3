-- Has the board remember what it replaces, for walks of a version. ARGV: three of the log; the
-- version(8), empty for the present one; whether a walk of it begins. Answers the board, or
-- "cursor" when it has forgotten that version.
local version = ARGV[4]
local present = version == '' or version == board[4]
if version == '' then
	version = board[4]
end
if ARGV[5] == 'begins' and not present then
	return 'cursor' -- nobody has logged what left since, whatever versions others walk
end
local high, low = read('>I4I4', version)
local covered = log and (high > log.fromHigh or high == log.fromHigh and low >= log.fromLow) and wanted(version)
if not covered then
	local walked = board[8] and sub(board[8], 9, 16) == version -- and nothing has changed since
	if not present or ARGV[5] ~= 'begins' and not walked then
		return 'cursor'
	end
	if not log then
		call('UNLINK', KEYS[5])
		log = {fromHigh = high, fromLow = low, rows = 0, open = 0}
	end
	log.uptoHigh, log.uptoLow = high, low
end
log.called = now(tonumber(ARGV[1]))
if log.rows > 0 then
	call('PEXPIRE', KEYS[5], math.ceil(ARGV[2] / 1000))
end
call('HSET', KEYS[1], 'walk', pack('>I4I4I4I4I4I4d', log.fromHigh, log.fromLow, log.uptoHigh, log.uptoLow, log.rows, log.open, log.called))
return {board}
