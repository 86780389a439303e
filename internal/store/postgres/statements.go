package postgres

import (
	"strconv"
	"strings"
)

// statement is one SQL statement, prepared on each connection that needs it.
type statement struct {
	name, sql string
	// number is its place in statements.
	number int
}

// statements are all there are.
var statements []*statement

func newStatement(sql string) *statement {
	s := &statement{name: "s" + strconv.Itoa(len(statements)), sql: sql, number: len(statements)}
	statements = append(statements, s)
	return s
}

// named is newStatement under a name that tells, for what a person looks for in the
// server's log.
func named(name, sql string) *statement {
	s := newStatement(sql)
	s.name = name
	return s
}

var (
	begin    = named("begin", `BEGIN ISOLATION LEVEL READ COMMITTED`)
	commit   = named("commit", `COMMIT`)
	rollback = named("rollback", `ROLLBACK`)

	// The locks are statements of their own: what follows is to see everything that
	// was committed before they were granted.
	lock       = newStatement(`SELECT pg_advisory_xact_lock($1::bigint)`)
	lockShared = newStatement(`SELECT pg_advisory_xact_lock_shared($1::bigint)`)

	clock = newStatement(`SELECT clock_timestamp(), pg_current_xact_id()`)
)

// rowColumns are what readRow reads.
const rowColumns = `b.tenant, b.id, b.rev, b.head, b.created, b.latest, b.runs,
	b.run_number, b.run_opened, b.run_idle, b.run_activity, b.run_wall, b.due`

const rowWidth = 13

// stateColumns are what readState reads: NULL when the board is at revision $3.
const stateColumns = `
	CASE WHEN b.rev <> $3::bigint THEN ARRAY(
		SELECT ROW(r.name, r.kind, r."window", r.owner, r.last, r.version, r.count, r.last_writer, r.other)
		FROM regions r WHERE r.tenant = b.tenant AND r.board = b.id ORDER BY r.name) END,
	CASE WHEN b.rev <> $3::bigint THEN ARRAY(
		SELECT ROW(a.name, a.address, a.writes_to, a.subscribes_to, a.told, a.cursor, a.registered)
		FROM agents a WHERE a.tenant = b.tenant AND a.board = b.id ORDER BY a.name) END,
	CASE WHEN b.rev <> $3::bigint THEN ARRAY(
		SELECT ROW(o.agent, o.due, o.claim, o.from_seq, o.to_seq, o.regions, o.lease, o.tries)
		FROM outbox o WHERE o.tenant = b.tenant AND o.board = b.id ORDER BY o.agent) END,
	CASE WHEN b.rev <> $3::bigint THEN (
		SELECT ROW(c.run, c.kind, c.reason, c.complete, c.unfinished, c.opened, c.closed, c.seq)
		FROM outcomes c WHERE c.tenant = b.tenant AND c.board = b.id ORDER BY c.run DESC LIMIT 1) END`

const stateWidth = 4

// entryColumns are what readEntry reads.
const entryColumns = `e.seq, e.region, e.kind, e.version, e.writer, e.at, e.key, e.digest, e.blobs, e.salt, e.content,
	e.erased_at, e.erased_by, e.erased_reason`

// lookups are entries by key ($4) and by sequence number ($5), lookup is the one of a
// single key. OFFSET 0 makes each a search of its own, for which there is no index but
// the right one, also while the planner knows nothing of the table.
const lookups = `,
	ARRAY(SELECT ROW(` + entryColumns + `) FROM unnest($4::text[]) k (key), LATERAL (SELECT * FROM entries n
		WHERE n.tenant = b.tenant AND n.board = b.id AND n.key = k.key OFFSET 0) e),
	ARRAY(SELECT ROW(` + entryColumns + `) FROM unnest($5::bigint[]) k (seq), LATERAL (SELECT * FROM entries n
		WHERE n.tenant = b.tenant AND n.board = b.id AND n.seq = k.seq OFFSET 0) e)`

const lookup = `,
	(SELECT ROW(` + entryColumns + `) FROM entries e
		WHERE e.tenant = b.tenant AND e.board = b.id AND e.key = $4::text)`

// fromBoard finds the board $2 of tenant $1; there is always one row.
const fromBoard = `
	FROM (VALUES (1)) AS one LEFT JOIN tenants t ON t.name = $1::text
	LEFT JOIN boards b ON b.tenant = t.id AND b.name = $2::text`

// underLock is what a transaction reads beside: the clock, its own number, the
// tenant's, and a number for the board should there be none yet.
const underLock = `SELECT clock_timestamp(), pg_current_xact_id(), t.id,
	CASE WHEN b.id IS NULL THEN nextval('board_ids') END, `

// fromSame finds the board only if there is one.
const fromSame = `
	FROM boards b WHERE b.tenant = (SELECT id FROM tenants WHERE name = $1::text) AND b.name = $2::text`

const underSame = `SELECT clock_timestamp(), pg_current_xact_id(), ` + rowColumns

var (
	// These read a board whose state the caller is thought to hold. They cost a third
	// of the others.
	readSame        = newStatement(underSame + fromSame)
	readSameKey     = newStatement(underSame + strings.ReplaceAll(lookup, "$4", "$3") + fromSame)
	readSameEntries = newStatement(underSame + strings.NewReplacer("$4", "$3", "$5", "$4").Replace(lookups) + fromSame)

	readHeld        = newStatement(underLock + rowColumns + `,` + stateColumns + fromBoard)
	readHeldKey     = newStatement(underLock + rowColumns + `,` + stateColumns + lookup + fromBoard)
	readHeldEntries = newStatement(underLock + rowColumns + `,` + stateColumns + lookups + fromBoard)
	// A value that a transaction is told of stays until it ends.
	readHeldBlobs = newStatement(`SELECT v.digest, v.size FROM unnest($2::bytea[]) k (digest), LATERAL (
		SELECT n.digest, n.size FROM blobs n WHERE n.tenant = (SELECT id FROM tenants WHERE name = $1::text)
		AND n.digest = k.digest FOR KEY SHARE) v`)
	readHeldMachine = newStatement(machineFacts + ` AND b.rev <> $3::bigint`)

	look = newStatement(`SELECT ` + rowColumns + `,` + stateColumns + lookups + `,
		ARRAY(SELECT ROW(v.digest, v.size) FROM unnest($6::bytea[]) k (digest), LATERAL (SELECT n.digest, n.size
			FROM blobs n WHERE n.tenant = t.id AND n.digest = k.digest OFFSET 0) v)` + fromBoard)

	// A copy of the cluster that was promoted or restored in the middle has another
	// timeline.
	readInfo = newStatement(`SELECT identity, epoch, written_by, CASE WHEN m.is_called THEN m.last_value + 1 ELSE 1 END,
		(SELECT system_identifier FROM pg_control_system()) || '/' || (SELECT timeline_id FROM pg_control_checkpoint())
		FROM store, marks m`)
	// A commit that changes nothing makes durable what was counted before.
	settleMark = newStatement(`UPDATE store SET epoch = epoch`)
	setEpoch   = newStatement(`UPDATE store SET epoch = $1::bigint WHERE epoch < $1::bigint`)
	readBlob   = newStatement(`SELECT v.content FROM tenants t JOIN blobs v ON v.tenant = t.id
		WHERE t.name = $1::text AND v.digest = $2::bytea`)

	listByName = newStatement(`SELECT ` + rowColumns + `, $1::text, b.name FROM boards b
		WHERE b.tenant = (SELECT id FROM tenants WHERE name = $1::text) AND b.name > $2::text
		ORDER BY b.name LIMIT $3::bigint`)
	listByDue = newStatement(`SELECT ` + rowColumns + `, t.name, b.name FROM boards b JOIN tenants t ON t.id = b.tenant
		WHERE b.due <= $1::timestamptz ORDER BY b.due, b.id LIMIT $2::bigint OFFSET $3::bigint`)
)

const machineFacts = `SELECT m.digest, v.content,
	(SELECT ROW(c.seq, c.body) FROM checkpoints c
		WHERE c.tenant = m.tenant AND c.board = m.board ORDER BY c.seq DESC LIMIT 1),
	ARRAY(SELECT ROW(s.agent, s.entry, s.attempt, s.generation, s.status, s.due, s.lease_until, s.sent_at, s.holder, s.failure)
		FROM summons s WHERE s.tenant = m.tenant AND s.board = m.board ORDER BY s.agent)
	FROM tenants t JOIN boards b ON b.tenant = t.id JOIN machines m ON m.tenant = b.tenant AND m.board = b.id
	JOIN blobs v ON v.tenant = m.tenant AND v.digest = m.digest
	WHERE t.name = $1::text AND b.name = $2::text`

var readMachine = newStatement(machineFacts)

// pageKind selects the statement that reads a page of the record.
type pageKind struct{ region, newest bool }

var pages = map[pageKind]*statement{
	{false, false}: newStatement(page("", "ASC")),
	{false, true}:  newStatement(page("", "DESC")),
	{true, false}:  newStatement(page("AND n.region = $6::text", "ASC")),
	{true, true}:   newStatement(page("AND n.region = $6::text", "DESC")),
}

// page reads entries after $3 and through $4, at most $5. A board without any gives
// one row that has only its head.
func page(region, order string) string {
	return `SELECT b.head, ` + entryColumns + ` FROM tenants t JOIN boards b ON b.tenant = t.id
		LEFT JOIN LATERAL (SELECT * FROM entries n WHERE n.tenant = b.tenant AND n.board = b.id AND n.seq > $3::bigint
			AND n.seq <= CASE WHEN $4::bigint = 0 THEN b.head ELSE $4::bigint END ` + region + `
			ORDER BY n.seq ` + order + ` LIMIT $5::bigint) e ON true
		WHERE t.name = $1::text AND b.name = $2::text ORDER BY e.seq ` + order
}

// nameStore gives a new store its identity.
var nameStore = newStatement(`UPDATE store SET identity = $1::text, created = clock_timestamp() WHERE identity = ''`)

// readHome is the schema that the tables were found in.
var readHome = newStatement(`SELECT relnamespace::regnamespace::text FROM pg_class WHERE oid = 'store'::regclass`)
