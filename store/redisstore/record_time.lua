-- KEYS: any of the server's.
return redis.call('TIME')
