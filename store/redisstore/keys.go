package redisstore

// keys names the server's keys. Each begins with the prefix of the address and a colon, of which
// the prefix has none: what two prefixes name is never the same. What must be changed by one
// script shares a hash tag, so that it is in one slot of a cluster. The tag is what stands
// between the first brace that opens and the next one that closes; no brace stands before ours,
// and what names have behind it is the same for all that must be together.
type keys struct{ prefix string }

// value is the key of a record that is in no family.
func (k keys) value(key string) string { return k.prefix + ":r:" + key }

// family is the keys of a family of records: a HASH of their values, and a ZSET of their names
// in byte order.
func (k keys) family(f family) (values, order string) {
	tagged := k.prefix + ":{" + k.prefix + "." + f.tag + "}:" + f.folder
	return tagged + "values", tagged + "order"
}

// board is the key of one part of a board ("order", "entries"). All parts of a board are in
// one slot.
func (k keys) board(name, part string) string { return k.prefix + ":{b/" + name + "}:" + part }

// boards is the key of one part of what concerns all boards.
func (k keys) boards(part string) string { return k.prefix + ":{" + k.prefix + ".boards}:" + part }

// channel is where the messages of a topic go.
func (k keys) channel(topic string) string { return k.prefix + ":bus:" + topic }
