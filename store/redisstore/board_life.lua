-- The life of the board.
return {redis.call('HGET', KEYS[1], 'life')}
