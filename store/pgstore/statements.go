package pgstore

// Statements on a table of records: {s} is the schema, {t} the table.
const (
	selectOne  = `SELECT key, version, written, clock_timestamp(), value FROM {s}.{t} WHERE key = $1::text`
	selectMany = `SELECT key, version, written, clock_timestamp(), value FROM {s}.{t} WHERE key = ANY($1::text[])`

	// A page ends after $3 records, or when $4 bytes of values are full. The length of a value
	// that is kept out of line is known without reading it.
	selectPage = `SELECT key, version, written, clock_timestamp(), value FROM (
		SELECT key, version, written, value,
			sum(octet_length(value)) OVER (ORDER BY key ROWS UNBOUNDED PRECEDING) - octet_length(value) AS before
		FROM (SELECT key, version, written, value FROM {s}.{t} WHERE key >= $1::text AND key < $2::text ORDER BY key LIMIT $3::bigint) p
	) q WHERE before < $4::bigint ORDER BY key`

	selectVersions = `SELECT key, version FROM {s}.{t} WHERE key = ANY($1::text[])`
	selectNow      = `SELECT clock_timestamp()`
)

// Grouped writes: one statement each, which commits by itself, and answers the keys whose
// condition held. Rows are locked (or, when missing, made) in the order of their keys: so do
// all writers of this package, and two of them never wait for each other in a circle. Rows
// that are made come in the order of the arguments, which are sorted: the database would sort
// what is in no table in an order of its own.
const (
	createMany = `INSERT INTO {s}.{t} (key, version, written, value)
		SELECT key, version, clock_timestamp(), value
		FROM unnest($1::text[], $2::bigint[], $3::bytea[]) WITH ORDINALITY AS i (key, version, value, n) ORDER BY n
		ON CONFLICT (key) DO NOTHING RETURNING key`

	storeMany = `INSERT INTO {s}.{t} (key, version, written, value)
		SELECT key, version, clock_timestamp(), value
		FROM unnest($1::text[], $2::bigint[], $3::bytea[]) WITH ORDINALITY AS i (key, version, value, n) ORDER BY n
		ON CONFLICT (key) DO UPDATE SET version = excluded.version, written = clock_timestamp(), value = excluded.value
		RETURNING key`

	// The version is looked at when the row is locked: it may be newer than what the statement
	// saw at its start.
	replaceMany = `WITH locked AS MATERIALIZED (
			SELECT key, version FROM {s}.{t} WHERE key = ANY($1::text[]) ORDER BY key FOR NO KEY UPDATE
		), fit AS MATERIALIZED (
			SELECT l.key, i.version, i.value
			FROM locked l JOIN unnest($1::text[], $2::bigint[], $3::bytea[], $4::bigint[]) AS i (key, version, value, wanted) ON i.key = l.key
			WHERE l.version = i.wanted
		)
		UPDATE {s}.{t} r SET version = f.version, written = clock_timestamp(), value = f.value
		FROM fit f WHERE r.key = f.key RETURNING r.key`

	// A wanted version of 0 stands for any.
	removeMany = `WITH locked AS MATERIALIZED (
			SELECT key, version FROM {s}.{t} WHERE key = ANY($1::text[]) ORDER BY key FOR UPDATE
		), fit AS MATERIALIZED (
			SELECT l.key
			FROM locked l JOIN unnest($1::text[], $2::bigint[]) AS i (key, wanted) ON i.key = l.key
			WHERE i.wanted = 0 OR l.version = i.wanted
		)
		DELETE FROM {s}.{t} r USING fit f WHERE r.key = f.key RETURNING r.key`
)

// Writes of a transaction of several keys. Each answers how many rows it met, 1 when its
// condition holds; what it met stays locked until the transaction ends.
const (
	storeOne = `INSERT INTO {s}.{t} (key, version, written, value) VALUES ($1::text, $2::bigint, clock_timestamp(), $3::bytea)
		ON CONFLICT (key) DO UPDATE SET version = excluded.version, written = clock_timestamp(), value = excluded.value`
	createOne = `INSERT INTO {s}.{t} (key, version, written, value) VALUES ($1::text, $2::bigint, clock_timestamp(), $3::bytea)
		ON CONFLICT (key) DO NOTHING`
	replaceOne = `UPDATE {s}.{t} SET version = $2::bigint, written = clock_timestamp(), value = $3::bytea
		WHERE key = $1::text AND version = $4::bigint`
	removeAny = `DELETE FROM {s}.{t} WHERE key = $1::text`
	removeOne = `DELETE FROM {s}.{t} WHERE key = $1::text AND version = $2::bigint`
	checkOne  = `SELECT 1 FROM {s}.{t} WHERE key = $1::text AND version = $2::bigint FOR SHARE`
)
