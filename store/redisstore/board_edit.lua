-- Removes, erases, hides or shows keys. ARGV: three of the log, the word, how many keys may be
-- hidden, the keys. Answers how many changed.
local word = ARGV[4]
if board[5] and word ~= 'erase' then
	return 'sealed'
end
if #ARGV < 6 then
	return {0}
end
local entries = call('HMGET', KEYS[2], unpack(ARGV, 6))
local hidden = call('HMGET', KEYS[4], unpack(ARGV, 6))
for i = 1, #ARGV - 5 do
	local aside = hidden[i]
	if illegible(entries[i]) or aside ~= '' and illegible(aside) then
		return damaged('an entry cannot be read')
	end
end
local high, low = raise()
local version, changed = pack('>I4I4', high, low), 0

-- Each word says what becomes of a key that has an entry, or is hidden with or without one.
local words = {}

function words.remove(key, entry, aside)
	if entry then
		leaves(key, entry, version)
		todo.gone[#todo.gone + 1] = key
	elseif aside and aside ~= '' then
		todo.kept[#todo.kept + 1] = key
		todo.kept[#todo.kept + 1] = ''
	else
		return 0
	end
	return 1
end

function words.erase(key, entry, aside)
	if entry then
		leaves(key, entry, version)
		todo.gone[#todo.gone + 1] = key
	elseif aside then
		todo.shown[#todo.shown + 1] = key
	else
		return 0
	end
	return 1
end

function words.hide(key, entry, aside)
	if aside then
		return 0
	end
	if entry then
		leaves(key, entry, version)
		todo.gone[#todo.gone + 1] = key
	end
	todo.kept[#todo.kept + 1] = key
	todo.kept[#todo.kept + 1] = entry or ''
	hiddens = hiddens + 1
	return 1
end

function words.show(key, entry, aside)
	if not aside then
		return 0
	end
	if aside ~= '' then
		returns(key, aside, version)
		todo.stored[#todo.stored + 1] = key
		todo.stored[#todo.stored + 1] = aside
	end
	todo.shown[#todo.shown + 1] = key
	return 1
end

for i = 6, #ARGV do
	changed = changed + words[word](ARGV[i], entries[i - 5], hidden[i - 5])
end
if word == 'hide' and changed > 0 and hiddens > tonumber(ARGV[5]) then
	return 'full'
end
if changed > 0 then
	hiddens = hiddens - #todo.shown
	count = count - #todo.unranked + #todo.ranked / 2
	finish()
end
return {changed}
