// Package redisstore is the store driver for Redis and Valkey, version 7 or later: records of
// the fast role, boards and bus, on one server, on a master that Sentinels look after, or on a
// cluster.
package redisstore
