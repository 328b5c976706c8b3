-- Has the board remember what it replaces, for walks of a version. ARGV: three of the log; the
-- version(8), empty for the present one, of which a walk begins then; the tag(8) of the version,
-- a fresh one when a walk begins; how many versions have tags of either kind. Answers the board and the tag of
-- the version, or "cursor" when it has forgotten that version, or never had it: see
-- standings.Walked. The field walked of the info has versions(8) and their tags(8) in turn.
local begins = ARGV[4] == ''
local version = begins and board[4] or ARGV[4]
local present = version == board[4]
local high, low = read('>I4I4', version)

-- The least bit of a tag says that a walk has it: a dense rank that passes by has one without it,
-- and shares that of a walk. There is room for as many of either kind: so dense ranks end no walk,
-- nor walks, which leave their tags when they are over, dense ranks.
local walked = call('HGET', KEYS[1], 'walked') or ''
if #walked % 16 ~= 0 then
	walked = '' -- tags that cannot be read are none
end
local function passing(tag)
	return string.byte(tag, 8) % 2 == 0
end
local known, same = nil, ''
for i = 1, #walked - 15, 16 do
	if sub(walked, i, i + 7) == version then
		local tag = sub(walked, i + 8, i + 15)
		same = same .. version .. tag
		if tag == ARGV[5] or begins and (passing(ARGV[5]) or not passing(tag)) then
			known = tag
		end
	end
end
if not begins and not known then
	return 'cursor'
end

local covered = log and (high > log.fromHigh or high == log.fromHigh and low >= log.fromLow) and wanted(version)
if covered or not board[5] then -- a sealed board replaces nothing more, but what it has replaced is kept
	if not covered then
		local last = board[8] and sub(board[8], 9, 16) == version -- and nothing has changed since
		if not begins and not (present and last) then
			return 'cursor'
		end
		if not log then
			call('UNLINK', KEYS[5])
			log = {fromHigh = high, fromLow = low, rows = 0, open = 0}
			walked = same
		end
		log.uptoHigh, log.uptoLow = high, low
	end
	log.called = now(tonumber(ARGV[1]))
	if log.rows > 0 then
		call('PEXPIRE', KEYS[5], math.ceil(ARGV[2] / 1000))
	end
	call('HSET', KEYS[1], 'walk', pack('>I4I4I4I4I4I4d', log.fromHigh, log.fromLow, log.uptoHigh, log.uptoLow, log.rows, log.open, log.called))
end
if not known then
	known = ARGV[5]
	local held, out = 0, 0 -- of this kind, and where the oldest of them is
	for i = #walked - 15, 1, -16 do
		if passing(sub(walked, i + 8, i + 15)) == passing(known) then
			held, out = held + 1, i
		end
	end
	if held >= tonumber(ARGV[6]) then
		walked = sub(walked, 1, out - 1) .. sub(walked, out + 16)
	end
	walked = walked .. version .. known
end
call('HSET', KEYS[1], 'walked', walked)
return {board, known}
