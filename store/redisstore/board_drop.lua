-- Drops the board and answers the life that it had. It asks for nothing else: a board that is
-- damaged can be dropped.
local life = redis.call('HGET', KEYS[1], 'life')
redis.call('UNLINK', unpack(KEYS))
return {life}
