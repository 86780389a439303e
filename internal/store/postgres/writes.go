package postgres

// The statements that write. Each takes a board's tenant ($1) and number ($2); those
// that may have many rows take their columns as arrays.

// setBoard writes a board's row and counts that. The revision that was read must
// still be there: NULL is refused by the table.
const setBoard = `UPDATE boards SET rev = CASE WHEN rev = $3::bigint AND nextval('marks') > 0 THEN $4::bigint END, head = $5::bigint,
	batch = $6::bigint, latest = $7::timestamptz, runs = $8::bigint, run_number = $9::bigint,
	run_opened = $10::timestamptz, run_idle = $11::bigint, run_activity = $12::timestamptz,
	run_wall = $13::timestamptz, due = $14::timestamptz WHERE tenant = $1::integer AND id = $2::bigint`

const onRegion = ` ON CONFLICT (tenant, board, name) DO UPDATE SET kind = excluded.kind, "window" = excluded."window",
	owner = excluded.owner, last = excluded.last, version = excluded.version, count = excluded.count,
	last_writer = excluded.last_writer, other = excluded.other`

const intoRegions = `INSERT INTO regions (tenant, board, name, kind, "window", owner, last, version, count, last_writer, other) `

const intoEntries = `INSERT INTO entries (tenant, board, seq, version, at, writer, key, digest, blobs, salt, content, region, kind) `

var (
	updateBoard = newStatement(setBoard)
	insertBoard = newStatement(`INSERT INTO boards (tenant, id, rev, head, batch, latest, runs, run_number, run_opened,
			run_idle, run_activity, run_wall, due, name, created)
		VALUES ($1::integer, $2::bigint, CASE WHEN nextval('marks') > 0 THEN $3::bigint END, $4::bigint, $5::bigint, $6::timestamptz, $7::bigint, $8::bigint,
			$9::timestamptz, $10::bigint, $11::timestamptz, $12::timestamptz, $13::timestamptz, $14::text, $15::timestamptz)`)

	// writeOne is what most transactions write: one entry, its region and the board.
	writeOne = newStatement(`WITH b AS (` + setBoard + `),
		r AS (` + intoRegions + `VALUES ($1, $2, $15::text, $16::region_kind, $17::bigint, $18::text, $19::bigint, $20::bigint,
			$21::bigint, $22::text, $23::bigint)` + onRegion + ` RETURNING name, kind)
		` + intoEntries + `SELECT $1, $2, $24::bigint, $25::bigint, $26::timestamptz, $27::text, $28::text, $29::bytea,
			NULL::bytea, $30::bytea, $31::bytea, r.name, r.kind FROM r`)

	writeRegions = newStatement(intoRegions + `SELECT $1::integer, $2::bigint, n.name, n.kind::region_kind, n.w, n.owner, n.last, n.version, n.count,
			n.last_writer, n.other FROM unnest($3::text[], $4::text[],
			$5::bigint[], $6::text[], $7::bigint[], $8::bigint[], $9::bigint[], $10::text[], $11::bigint[])
			n (name, kind, w, owner, last, version, count, last_writer, other)` + onRegion)

	// An entry whose region the board does not have gets none, which the table refuses.
	writeEntries = newStatement(intoEntries + `SELECT $1::integer, $2::bigint, n.seq, n.version, n.at, n.writer, n.key,
			n.digest, n.blobs, n.salt, n.content,
			(SELECT r.name FROM regions r WHERE r.tenant = $1 AND r.board = $2 AND r.name = n.region), n.kind::region_kind
		FROM unnest($3::bigint[], $4::bigint[], $5::timestamptz[], $6::text[], $7::text[], $8::bytea[], $9::bytea[],
			$10::bytea[], $11::bytea[], $12::text[], $13::text[])
			n (seq, version, at, writer, key, digest, blobs, salt, content, region, kind)`)

	writeBlobRefs = newStatement(`INSERT INTO blob_refs (tenant, board, seq, digest)
		SELECT $1::integer, $2::bigint, n.* FROM unnest($3::bigint[], $4::bytea[]) n ON CONFLICT DO NOTHING`)

	// An entry that is not there cannot be erased: the board then has no head.
	erase = newStatement(`WITH e AS (UPDATE entries SET salt = NULL, content = NULL, blobs = NULL,
			erased_at = $4::timestamptz, erased_by = $5::text, erased_reason = $6::text
			WHERE tenant = $1::integer AND board = $2::bigint AND seq = $3::bigint RETURNING seq)
		UPDATE boards SET head = CASE WHEN EXISTS (SELECT 1 FROM e) THEN head END WHERE tenant = $1 AND id = $2`)
	// The values that the entry referred to may have lost their last reference.
	eraseRefs = newStatement(`WITH d AS (DELETE FROM blob_refs
			WHERE tenant = $1::integer AND board = $2::bigint AND seq = $3::bigint RETURNING digest)
		UPDATE blobs v SET loose = true FROM d WHERE v.tenant = $1::integer AND v.digest = d.digest`)
	// A checkpoint holds what its run had been told: it is folded anew without.
	eraseCheckpoints = newStatement(`DELETE FROM checkpoints
		WHERE tenant = $1::integer AND board = $2::bigint AND seq >= $3::bigint`)

	dropOutbox      = newStatement(`DELETE FROM outbox WHERE tenant = $1::integer AND board = $2::bigint`)
	dropAgents      = newStatement(`DELETE FROM agents WHERE tenant = $1::integer AND board = $2::bigint`)
	dropOutboxNamed = newStatement(`DELETE FROM outbox WHERE tenant = $1::integer AND board = $2::bigint AND agent = ANY ($3::text[])`)

	writeAgent = newStatement(`INSERT INTO agents (tenant, board, name, address, writes_to, subscribes_to, told, cursor, registered)
		VALUES ($1::integer, $2::bigint, $3::text, $4::text, $5::text[], $6::text[], $7::bigint, $8::bigint, $9::timestamptz)
		ON CONFLICT (tenant, board, name) DO UPDATE SET address = excluded.address, writes_to = excluded.writes_to,
			subscribes_to = excluded.subscribes_to, told = excluded.told, cursor = excluded.cursor,
			registered = excluded.registered`)

	// Rows that are only pending are written many at a time, the others one by one:
	// their lists differ in length.
	writePending = newStatement(`INSERT INTO outbox (tenant, board, from_seq, to_seq, agent, due, tries)
		SELECT $1::integer, $2::bigint, 0, 0, n.* FROM unnest($3::text[], $4::timestamptz[], $5::bigint[]) n` + onOutbox)
	writeOutbox = newStatement(`INSERT INTO outbox (tenant, board, agent, due, claim, from_seq, to_seq, regions, lease, tries)
		VALUES ($1::integer, $2::bigint, $3::text, $4::timestamptz, $5::text, $6::bigint, $7::bigint, $8::text[],
			$9::timestamptz, $10::bigint)` + onOutbox)

	writeOutcome = newStatement(`INSERT INTO outcomes (tenant, board, run, kind, reason, complete, unfinished, opened, closed, seq)
		VALUES ($1::integer, $2::bigint, $3::bigint, $4::text, $5::text, $6::boolean, $7::text[], $8::timestamptz,
			$9::timestamptz, $10::bigint)`)
)

const onOutbox = ` ON CONFLICT (tenant, board, agent) DO UPDATE SET due = excluded.due, claim = excluded.claim,
	from_seq = excluded.from_seq, to_seq = excluded.to_seq, regions = excluded.regions, lease = excluded.lease,
	tries = excluded.tries`

// deleteBoard removes everything a board has. The values that it referred to may
// have lost their last reference: they are locked whatever is known of them, so that
// a collection that still sees the references cannot let them out of its sight.
var deleteBoard = []*statement{
	newStatement(`UPDATE blobs v SET loose = true FROM (
		SELECT r.digest FROM blob_refs r WHERE r.tenant = $1::integer AND r.board = $2::bigint
		UNION SELECT m.digest FROM machines m WHERE m.tenant = $1::integer AND m.board = $2::bigint) d
		WHERE v.tenant = $1::integer AND v.digest = d.digest`),
	newStatement(`DELETE FROM summons WHERE tenant = $1::integer AND board = $2::bigint`),
	newStatement(`DELETE FROM checkpoints WHERE tenant = $1::integer AND board = $2::bigint`),
	newStatement(`DELETE FROM machines WHERE tenant = $1::integer AND board = $2::bigint`),
	newStatement(`DELETE FROM blob_refs WHERE tenant = $1::integer AND board = $2::bigint`),
	newStatement(`DELETE FROM entries WHERE tenant = $1::integer AND board = $2::bigint`),
	newStatement(`DELETE FROM outcomes WHERE tenant = $1::integer AND board = $2::bigint`),
	dropOutbox,
	dropAgents,
	newStatement(`DELETE FROM regions WHERE tenant = $1::integer AND board = $2::bigint`),
	newStatement(`DELETE FROM boards WHERE tenant = $1::integer AND id = $2::bigint`),
}

var (
	findTenant = newStatement(`INSERT INTO tenants (name) VALUES ($1::text)
		ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING id`)
	makeTenant = newStatement(`INSERT INTO tenants (name) SELECT $1::text
		WHERE NOT EXISTS (SELECT 1 FROM tenants WHERE name = $1::text) ON CONFLICT DO NOTHING`)

	putBlob = newStatement(`INSERT INTO blobs (tenant, digest, size, put, content)
		SELECT t.id, $2::bytea, $3::bigint, $4::timestamptz, $5::bytea FROM tenants t WHERE t.name = $1::text
		ON CONFLICT (tenant, digest) DO UPDATE SET put = excluded.put`)

	// The rows are locked first and looked at in the statement after: only then are all
	// references known that others made before. Values that somebody holds are left
	// for the next collection.
	lockLoose = newStatement(`SELECT v.ctid FROM blobs v WHERE v.loose AND v.put < $1::timestamptz
		ORDER BY v.put LIMIT $2::bigint FOR UPDATE SKIP LOCKED`)
	dropLoose = newStatement(`DELETE FROM blobs v WHERE v.ctid = ANY ($1::tid[])
		AND NOT EXISTS (SELECT 1 FROM blob_refs r WHERE r.tenant = v.tenant AND r.digest = v.digest OFFSET 0)
		AND NOT EXISTS (SELECT 1 FROM machines m WHERE m.tenant = v.tenant AND m.digest = v.digest OFFSET 0)`)
	keepLoose = newStatement(`UPDATE blobs v SET loose = false WHERE v.ctid = ANY ($1::tid[])`)

	// A definition that a machine leaves may have lost its last reference.
	leaveDefinition = newStatement(`UPDATE blobs v SET loose = true FROM machines m
		WHERE m.tenant = $1::integer AND m.board = $2::bigint AND m.digest <> $3::bytea
		AND v.tenant = m.tenant AND v.digest = m.digest`)
	writeMachine = newStatement(`INSERT INTO machines (tenant, board, digest) VALUES ($1::integer, $2::bigint, $3::bytea)
		ON CONFLICT (tenant, board) DO UPDATE SET digest = excluded.digest`)
	writeCheckpoint = newStatement(`INSERT INTO checkpoints (tenant, board, seq, body)
		VALUES ($1::integer, $2::bigint, $3::bigint, $4::bytea)
		ON CONFLICT (tenant, board, seq) DO UPDATE SET body = excluded.body`)
	dropSummons = newStatement(`DELETE FROM summons WHERE tenant = $1::integer AND board = $2::bigint AND agent = ANY ($3::text[])`)
	writeSummon = newStatement(`INSERT INTO summons (tenant, board, agent, entry, attempt, generation, status, due, lease_until,
			sent_at, holder, failure)
		VALUES ($1::integer, $2::bigint, $3::text, $4::bigint, $5::bigint, $6::bigint, $7::text, $8::timestamptz,
			$9::timestamptz, $10::timestamptz, $11::text, $12::text)
		ON CONFLICT (tenant, board, agent) DO UPDATE SET entry = excluded.entry, attempt = excluded.attempt,
			generation = excluded.generation, status = excluded.status, due = excluded.due,
			lease_until = excluded.lease_until, sent_at = excluded.sent_at, holder = excluded.holder,
			failure = excluded.failure`)
)
