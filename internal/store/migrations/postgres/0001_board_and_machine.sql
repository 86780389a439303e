-- +goose Up
-- The same as the other engines' 0001. What differs, and why:
--   * Instants are timestamptz: as many bytes as a number, the same microseconds, and
--     readable by a person. Lists of names are text[]. Durations are nanoseconds and
--     digests the 32 bytes of a SHA-256. Absent is NULL.
--   * Names compare by their bytes (COLLATE "C"), whatever the database's locale.
--   * An erasure is columns of its entry and not a row of its own: the row is written
--     anew either way.
--   * Large values need no table of their own: PostgreSQL keeps them apart by itself
--     and does not rewrite them with the rest of their row.
--   * Rows that are written with every call (entries, outbox) have no foreign keys: the
--     check would cost as much as the write, and deleting a board would check each of
--     its entries. Their writer holds the board's lock, and an entry takes its region's
--     name from the region's row, so that NOT NULL says what the key would.
--   * The tables that are written with every call (boards, regions, entries, outbox) have
--     no CHECK: PostgreSQL reads it from its text again for each statement, which costs
--     more than writing the row. Types and NOT NULL say there what they can.
--   * Rows that are rewritten with every call leave room on their pages and change no
--     indexed column, so that a new version stays on its page and touches no index.

CREATE TYPE region_kind AS ENUM ('level', 'premise');

-- One row: which store this is and which schema it has. written_by is the newest
-- migration applied; readable_by is the newest migration that a program must know
-- to read and write what is here. Each migration sets both.
CREATE TABLE store (
    one         integer     PRIMARY KEY CHECK (one = 1),
    identity    text        NOT NULL CHECK (length(identity) IN (0, 36)),
    epoch       bigint      NOT NULL CHECK (epoch >= 1),
    created     timestamptz NOT NULL,
    written_by  bigint      NOT NULL CHECK (written_by >= 1),
    readable_by bigint      NOT NULL CHECK (readable_by BETWEEN 1 AND written_by)
);

COMMENT ON TABLE store IS 'Slate';

-- The identity is drawn by the program that opens the database first.
INSERT INTO store (one, identity, epoch, created, written_by, readable_by) VALUES (1, '', 1, to_timestamp(0), 1, 1);

-- One row, drawn anew whenever it is found missing. PostgreSQL empties an unlogged
-- table when it recovers from a crash, is restored or is promoted: as long as the
-- token is the same, the numbers of its transactions mean what they meant.
CREATE UNLOGGED TABLE lifetime (
    one   integer PRIMARY KEY CHECK (one = 1),
    token text    NOT NULL
);

CREATE TABLE tenants (
    id   integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    name text    COLLATE "C" NOT NULL UNIQUE
);

-- A board's number is drawn before its row is written.
CREATE SEQUENCE board_ids;

-- Counts the writes to boards. An older copy of the store has counted less.
CREATE SEQUENCE marks;

CREATE TABLE boards (
    tenant       integer     NOT NULL REFERENCES tenants (id),
    id           bigint      NOT NULL,
    rev          bigint      NOT NULL,
    head         bigint      NOT NULL,
    -- Drawn at random by the transaction that wrote the row last: it tells that
    -- transaction from any other when the answer to its COMMIT was lost.
    batch        bigint      NOT NULL,
    created      timestamptz NOT NULL,
    latest       timestamptz,
    runs         bigint      NOT NULL,
    run_number   bigint,
    run_opened   timestamptz,
    run_idle     bigint,
    run_activity timestamptz,
    run_wall     timestamptz,
    due          timestamptz,
    name         text        COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, id),
    UNIQUE (tenant, name)
) WITH (fillfactor = 50);

CREATE INDEX boards_due ON boards (due, id) WHERE due IS NOT NULL;

CREATE TABLE regions (
    tenant      integer NOT NULL,
    board       bigint  NOT NULL,
    "window"    bigint  NOT NULL,
    last        bigint  NOT NULL,
    version     bigint  NOT NULL,
    count       bigint  NOT NULL,
    other       bigint  NOT NULL,
    name        text    COLLATE "C" NOT NULL,
    kind        region_kind NOT NULL,
    owner       text,
    last_writer text,
    PRIMARY KEY (tenant, board, name),
    FOREIGN KEY (tenant, board) REFERENCES boards (tenant, id)
) WITH (fillfactor = 50);

CREATE TABLE agents (
    tenant        integer NOT NULL,
    board         bigint  NOT NULL,
    told          bigint  NOT NULL CHECK (told >= 0),
    cursor        bigint  NOT NULL CHECK (cursor >= 0),
    registered    timestamptz,
    name          text    COLLATE "C" NOT NULL CHECK (name <> ''),
    address       text,
    writes_to     text[],
    subscribes_to text[],
    PRIMARY KEY (tenant, board, name),
    FOREIGN KEY (tenant, board) REFERENCES boards (tenant, id)
) WITH (fillfactor = 70);

-- What an agent is to be told: pending (due), in flight (claim), or both.
CREATE TABLE outbox (
    tenant   integer NOT NULL,
    board    bigint  NOT NULL,
    from_seq bigint  NOT NULL,
    to_seq   bigint  NOT NULL,
    due      timestamptz,
    lease    timestamptz,
    tries    bigint  NOT NULL,
    agent    text    COLLATE "C" NOT NULL,
    claim    text,
    regions  text[],
    PRIMARY KEY (tenant, board, agent)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);

-- The record. Rows are only ever appended. An erasure leaves the row without content
-- and salt; what was there stays in a dead version of the row, which no query sees,
-- until a vacuum. Nothing else makes dead rows here, so any is worth a vacuum.
CREATE TABLE entries (
    tenant  integer NOT NULL,
    board   bigint  NOT NULL,
    seq     bigint  NOT NULL,
    version bigint  NOT NULL,
    at      timestamptz,
    region  text    COLLATE "C" NOT NULL,
    kind    region_kind NOT NULL,
    writer  text,
    key     text    COLLATE "C",
    digest  bytea,
    blobs   bytea,
    salt    bytea,
    content bytea,
    -- What stays where content was erased.
    erased_at     timestamptz,
    erased_by     text,
    erased_reason text,
    PRIMARY KEY (tenant, board, seq)
) WITH (autovacuum_vacuum_threshold = 0, autovacuum_vacuum_scale_factor = 0,
    toast.autovacuum_vacuum_threshold = 0, toast.autovacuum_vacuum_scale_factor = 0);

CREATE INDEX entries_region ON entries (tenant, board, region, seq);
CREATE UNIQUE INDEX entries_key ON entries (tenant, board, key) WHERE key IS NOT NULL;

CREATE TABLE outcomes (
    tenant     integer NOT NULL,
    board      bigint  NOT NULL,
    run        bigint  NOT NULL CHECK (run > 0),
    seq        bigint  NOT NULL CHECK (seq >= 0),
    opened     timestamptz,
    closed     timestamptz,
    complete   boolean NOT NULL,
    kind       text    COLLATE "C" NOT NULL CHECK (kind IN ('settled', 'wall_clock_expired', 'aborted')),
    reason     text,
    unfinished text[],
    PRIMARY KEY (tenant, board, run),
    FOREIGN KEY (tenant, board) REFERENCES boards (tenant, id)
);

-- Content-addressed values.
CREATE TABLE blobs (
    tenant  integer     NOT NULL REFERENCES tenants (id),
    size    bigint      NOT NULL CHECK (size >= 0),
    put     timestamptz NOT NULL,
    -- Nothing may refer to the value: it was put, or something let go of it, since a
    -- collection looked last. A collection looks at these and at no others. (Counting
    -- the references would make boards that share a value wait for each other.)
    loose   boolean     NOT NULL DEFAULT true,
    digest  bytea       NOT NULL CHECK (length(digest) = 32),
    content bytea       NOT NULL,
    PRIMARY KEY (tenant, digest)
);

CREATE INDEX blobs_loose ON blobs (put) WHERE loose;

CREATE TABLE blob_refs (
    tenant integer NOT NULL,
    board  bigint  NOT NULL,
    seq    bigint  NOT NULL,
    digest bytea   NOT NULL,
    PRIMARY KEY (tenant, board, seq, digest),
    FOREIGN KEY (tenant, digest) REFERENCES blobs (tenant, digest)
);

CREATE INDEX blob_refs_digest ON blob_refs (tenant, digest);

-- The machine that runs on a board: its definition is a blob, which it keeps.
CREATE TABLE machines (
    tenant integer NOT NULL,
    board  bigint  NOT NULL,
    digest bytea   NOT NULL,
    PRIMARY KEY (tenant, board),
    FOREIGN KEY (tenant, board) REFERENCES boards (tenant, id),
    FOREIGN KEY (tenant, digest) REFERENCES blobs (tenant, digest)
);

CREATE INDEX machines_digest ON machines (tenant, digest);

CREATE TABLE checkpoints (
    tenant integer NOT NULL,
    board  bigint  NOT NULL,
    seq    bigint  NOT NULL CHECK (seq >= 0),
    body   bytea   NOT NULL,
    PRIMARY KEY (tenant, board, seq),
    FOREIGN KEY (tenant, board) REFERENCES machines (tenant, board)
);

CREATE TABLE summons (
    tenant      integer NOT NULL,
    board       bigint  NOT NULL,
    entry       bigint  NOT NULL,
    attempt     bigint  NOT NULL,
    generation  bigint  NOT NULL CHECK (generation >= 0),
    due         timestamptz,
    lease_until timestamptz,
    sent_at     timestamptz,
    agent       text    COLLATE "C" NOT NULL CHECK (agent <> ''),
    status      text    COLLATE "C" NOT NULL CHECK (status IN ('pending', 'sent', 'settled')),
    holder      text,
    failure     text,
    PRIMARY KEY (tenant, board, agent),
    FOREIGN KEY (tenant, board) REFERENCES machines (tenant, board)
) WITH (fillfactor = 70);
