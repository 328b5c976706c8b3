-- Profiles for plain queries. A value that is no JSON, or that jsonb cannot hold, is NULL
-- instead of ending the query.
CREATE OR REPLACE FUNCTION {s}.as_json(value bytea) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
BEGIN
	RETURN convert_from(value, 'UTF8')::jsonb;
EXCEPTION WHEN others THEN
	RETURN NULL;
END $$;

CREATE OR REPLACE VIEW {s}.profiles AS
	SELECT split_part(r.key, '/', 2) AS "set", split_part(r.key, '/', 3) AS key,
		j.object -> 'data' AS data,
		j.object -> 'session' ->> 'node' AS held_by,
		CASE jsonb_typeof(j.object -> 'revision') WHEN 'number' THEN (j.object ->> 'revision')::numeric END AS revision,
		r.written
	FROM {s}.records r, LATERAL (SELECT {s}.as_json(r.value) AS object OFFSET 0) j
	WHERE r.key >= 'profile/' AND r.key < 'profile0';
