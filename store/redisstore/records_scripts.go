package redisstore

// recordScripts are what records need. Each checks first and writes last. Conditions are "*" for any, nothing for absent, or the eight
// bytes of a version.
type recordScripts struct {
	put, remove, check, get, now                 *script // records of their own
	putIn, putBeat, removeIn, checkIn, getIn, in *script // records of a family; in lists it
}

func newRecordScripts() *recordScripts {
	const (
		// The version of the record, or nothing, against the condition.
		condition = `
local old = redis.call('GETRANGE', KEYS[1], 0, 7)
if ARGV[1] ~= '*' and ARGV[1] ~= old then return 0 end
`
		conditionIn = `
local old = redis.call('HGET', KEYS[1], ARGV[1])
if ARGV[2] ~= '*' and ARGV[2] ~= string.sub(old or '', 1, 8) then return 0 end
`
		putIn = conditionIn + `
if not old then redis.call('ZADD', KEYS[2], 0, ARGV[1]) end
local t = redis.call('TIME')
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3] .. struct.pack('>I4I4', t[1], t[2]) .. ARGV[4])
return 1
`
	)
	return &recordScripts{
		// Several at once cost little more than half of what each alone does. None of them can
		// fail when the first has not: the server had room, and what is not a string (an error,
		// which is a table) is left alone.
		put: newScript(whenRoom, `
local old, t = {}, redis.call('TIME')
for i, key in ipairs(KEYS) do old[i] = redis.pcall('GETRANGE', key, 0, 7) end
local stamp = struct.pack('>I4I4', t[1], t[2])
for i, key in ipairs(KEYS) do
  local wanted = ARGV[3 * i - 2]
  if type(old[i]) == 'table' then
    old[i] = -1
  elseif wanted == '*' or wanted == old[i] then
    redis.call('SET', key, ARGV[3 * i - 1] .. stamp .. ARGV[3 * i])
    old[i] = 1
  else
    old[i] = 0
  end
end
return old
`),
		remove: newScript(always, condition+`
redis.call('DEL', KEYS[1])
return 1
`),
		check: newScript(always, condition+`return 1`),
		get: newScript(always, `
local found = redis.call('TIME')
for i, key in ipairs(KEYS) do found[i + 2] = redis.call('GET', key) end
return found
`),
		now: newScript(always, `return redis.call('TIME')`),

		putIn:   newScript(whenRoom, putIn),
		putBeat: newScript(always, putIn),
		removeIn: newScript(always, conditionIn+`
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('HDEL', KEYS[1], ARGV[1])
return 1
`),
		checkIn: newScript(always, conditionIn+`return 1`),
		getIn: newScript(always, `
local found = redis.call('TIME')
for i, name in ipairs(ARGV) do found[i + 2] = redis.call('HGET', KEYS[1], name) end
return found
`),
		// From, to, how many, and how many bytes are enough. It answers the time, whether it
		// ended early, and names and frames.
		in: newScript(always, `
local found = redis.call('TIME')
local names = redis.call('ZRANGEBYLEX', KEYS[2], ARGV[1], ARGV[2], 'LIMIT', 0, ARGV[3])
local bytes, enough = 0, tonumber(ARGV[4])
found[3] = 0
for i, name in ipairs(names) do
  local frame = redis.call('HGET', KEYS[1], name)
  found[#found + 1] = name
  found[#found + 1] = frame
  bytes = bytes + #(frame or '')
  if bytes >= enough and i < #names then
    found[3] = 1
    break
  end
end
return found
`),
	}
}
