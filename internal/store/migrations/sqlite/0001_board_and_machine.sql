-- +goose Up
-- Instants are microseconds since 1970 in UTC, durations nanoseconds, digests the
-- 32 bytes of a SHA-256, lists of names JSON arrays. Absent is NULL.

-- "Slat": tells a Slate database from any other.
PRAGMA application_id = 1399611764;

-- One row: which store this is and which schema it has. written_by is the newest
-- migration applied; readable_by is the newest migration that a program must know
-- to read and write what is here. Each migration sets both.
CREATE TABLE store (
    one         INTEGER PRIMARY KEY CHECK (one = 1),
    identity    TEXT    NOT NULL CHECK (length(identity) IN (0, 36)),
    epoch       INTEGER NOT NULL CHECK (epoch >= 1),
    created     INTEGER NOT NULL,
    written_by  INTEGER NOT NULL CHECK (written_by >= 1),
    readable_by INTEGER NOT NULL CHECK (readable_by BETWEEN 1 AND written_by),
    -- Set when rows of entries were deleted, which can leave copies of their
    -- neighbours in unused parts of a page: the next erasure rewrites the file.
    moved       INTEGER NOT NULL DEFAULT 0 CHECK (moved IN (0, 1)),
    -- How far deletions took back the highest entries.id: added to it, it counts
    -- every entry ever written.
    gone        INTEGER NOT NULL DEFAULT 0 CHECK (gone >= 0)
) STRICT;

-- The identity is drawn by the program that opens the file first.
INSERT INTO store (one, identity, epoch, created, written_by, readable_by) VALUES (1, '', 1, 0, 1, 1);

CREATE TABLE tenants (
    id   INTEGER PRIMARY KEY,
    name TEXT    NOT NULL UNIQUE
) STRICT;

CREATE TABLE boards (
    id           INTEGER PRIMARY KEY,
    tenant       INTEGER NOT NULL REFERENCES tenants (id),
    name         TEXT    NOT NULL CHECK (name <> ''),
    rev          INTEGER NOT NULL CHECK (rev >= 0),
    head         INTEGER NOT NULL CHECK (head >= 0),
    created      INTEGER NOT NULL,
    latest       INTEGER,
    runs         INTEGER NOT NULL CHECK (runs >= 0),
    run_number   INTEGER,
    run_opened   INTEGER,
    run_idle     INTEGER,
    run_activity INTEGER,
    run_wall     INTEGER,
    due          INTEGER,
    CHECK ((run_number IS NULL) = (run_idle IS NULL)),
    CHECK (run_number IS NOT NULL OR (run_opened IS NULL AND run_activity IS NULL AND run_wall IS NULL)),
    CHECK (run_number IS NULL OR run_number <= runs)
) STRICT;

CREATE UNIQUE INDEX boards_name ON boards (tenant, name);
CREATE UNIQUE INDEX boards_id ON boards (tenant, id);
CREATE INDEX boards_due ON boards (due) WHERE due IS NOT NULL;

CREATE TABLE regions (
    tenant      INTEGER NOT NULL,
    board       INTEGER NOT NULL,
    name        TEXT    NOT NULL CHECK (name <> ''),
    kind        TEXT    NOT NULL CHECK (kind IN ('level', 'premise')),
    window      INTEGER NOT NULL CHECK (window >= 0),
    owner       TEXT,
    last        INTEGER NOT NULL CHECK (last >= 0),
    version     INTEGER NOT NULL CHECK (version >= 0 AND (version = 0 OR kind = 'premise')),
    count       INTEGER NOT NULL CHECK (count >= 0),
    last_writer TEXT,
    other       INTEGER NOT NULL CHECK (other BETWEEN 0 AND last),
    PRIMARY KEY (tenant, board, name),
    FOREIGN KEY (tenant, board) REFERENCES boards (tenant, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE agents (
    tenant        INTEGER NOT NULL,
    board         INTEGER NOT NULL,
    name          TEXT    NOT NULL CHECK (name <> ''),
    address       TEXT,
    writes_to     TEXT,
    subscribes_to TEXT,
    told          INTEGER NOT NULL CHECK (told >= 0),
    cursor        INTEGER NOT NULL CHECK (cursor >= 0),
    registered    INTEGER,
    PRIMARY KEY (tenant, board, name),
    FOREIGN KEY (tenant, board) REFERENCES boards (tenant, id)
) STRICT, WITHOUT ROWID;

-- What an agent is to be told: pending (due), in flight (claim), or both.
CREATE TABLE outbox (
    tenant   INTEGER NOT NULL,
    board    INTEGER NOT NULL,
    agent    TEXT    NOT NULL CHECK (agent <> ''),
    due      INTEGER,
    claim    TEXT,
    from_seq INTEGER NOT NULL,
    to_seq   INTEGER NOT NULL,
    regions  TEXT,
    lease    INTEGER,
    tries    INTEGER NOT NULL CHECK (tries >= 0),
    PRIMARY KEY (tenant, board, agent),
    FOREIGN KEY (tenant, board) REFERENCES boards (tenant, id),
    CHECK (due IS NOT NULL OR claim IS NOT NULL),
    CHECK (claim IS NOT NULL OR (from_seq = 0 AND to_seq = 0 AND regions IS NULL AND lease IS NULL)),
    CHECK (from_seq <= to_seq)
) STRICT, WITHOUT ROWID;

-- The record. Rows are only ever appended to this table, and an erasure overwrites
-- content and salt with as many zero bytes: a row that keeps its place and its size
-- leaves no second copy in unused parts of a page. That is why the key (tenant,
-- board, seq) is an index and not the order of the table.
CREATE TABLE entries (
    id      INTEGER PRIMARY KEY,
    tenant  INTEGER NOT NULL,
    board   INTEGER NOT NULL,
    seq     INTEGER NOT NULL CHECK (seq > 0),
    region  TEXT    NOT NULL,
    kind    TEXT    NOT NULL CHECK (kind IN ('level', 'premise')),
    version INTEGER NOT NULL CHECK (version >= 0 AND (version = 0 OR kind = 'premise')),
    writer  TEXT,
    at      INTEGER,
    key     TEXT,
    digest  BLOB    CHECK (digest IS NULL OR length(digest) = 32),
    blobs   BLOB    CHECK (blobs IS NULL OR (length(blobs) > 0 AND length(blobs) % 32 = 0)),
    erased  INTEGER NOT NULL DEFAULT 0 CHECK (erased IN (0, 1)),
    salt    BLOB,
    content BLOB,
    FOREIGN KEY (tenant, board, region) REFERENCES regions (tenant, board, name)
) STRICT;

CREATE UNIQUE INDEX entries_seq ON entries (tenant, board, seq);
CREATE INDEX entries_region ON entries (tenant, board, region, seq);
CREATE UNIQUE INDEX entries_key ON entries (tenant, board, key) WHERE key IS NOT NULL;

-- What stays where content was erased. Adding a row erases.
CREATE TABLE erasures (
    tenant INTEGER NOT NULL,
    board  INTEGER NOT NULL,
    seq    INTEGER NOT NULL,
    at     INTEGER NOT NULL,
    by     TEXT    NOT NULL,
    reason TEXT,
    PRIMARY KEY (tenant, board, seq),
    FOREIGN KEY (tenant, board, seq) REFERENCES entries (tenant, board, seq)
) STRICT, WITHOUT ROWID;

-- +goose StatementBegin
CREATE TRIGGER erase AFTER INSERT ON erasures BEGIN
    UPDATE entries
    SET erased  = 1,
        salt    = iif(salt IS NULL, NULL, zeroblob(length(salt))),
        content = iif(content IS NULL, NULL, zeroblob(length(content))),
        blobs   = iif(blobs IS NULL, NULL, zeroblob(length(blobs)))
    WHERE tenant = NEW.tenant AND board = NEW.board AND seq = NEW.seq;
    DELETE FROM blob_refs WHERE tenant = NEW.tenant AND board = NEW.board AND seq = NEW.seq;
    -- A checkpoint holds what its run had been told: it is folded anew without.
    UPDATE checkpoints SET body = zeroblob(length(body))
    WHERE tenant = NEW.tenant AND board = NEW.board AND seq >= NEW.seq;
    DELETE FROM checkpoints WHERE tenant = NEW.tenant AND board = NEW.board AND seq >= NEW.seq;
END;
-- +goose StatementEnd

CREATE TABLE outcomes (
    tenant     INTEGER NOT NULL,
    board      INTEGER NOT NULL,
    run        INTEGER NOT NULL CHECK (run > 0),
    kind       TEXT    NOT NULL CHECK (kind IN ('settled', 'wall_clock_expired', 'aborted')),
    reason     TEXT,
    complete   INTEGER NOT NULL CHECK (complete IN (0, 1)),
    unfinished TEXT,
    opened     INTEGER,
    closed     INTEGER,
    seq        INTEGER NOT NULL CHECK (seq >= 0),
    PRIMARY KEY (tenant, board, run),
    FOREIGN KEY (tenant, board) REFERENCES boards (tenant, id)
) STRICT, WITHOUT ROWID;

-- Content-addressed values: what is known of them, apart from the bytes, which may
-- be many and are not to be rewritten when the rest changes.
CREATE TABLE blobs (
    tenant INTEGER NOT NULL REFERENCES tenants (id),
    digest BLOB    NOT NULL CHECK (length(digest) = 32),
    size   INTEGER NOT NULL CHECK (size >= 0),
    put    INTEGER NOT NULL,
    -- How many entries and machine runs refer to the value; triggers count.
    refs   INTEGER NOT NULL DEFAULT 0 CHECK (refs >= 0),
    body   INTEGER NOT NULL REFERENCES blob_bodies (id),
    PRIMARY KEY (tenant, digest)
) STRICT, WITHOUT ROWID;

CREATE INDEX blobs_unreferenced ON blobs (put) WHERE refs = 0;
CREATE UNIQUE INDEX blobs_body ON blobs (body);

CREATE TABLE blob_bodies (
    id      INTEGER PRIMARY KEY,
    content BLOB    NOT NULL
) STRICT;

CREATE TABLE blob_refs (
    tenant INTEGER NOT NULL,
    board  INTEGER NOT NULL,
    seq    INTEGER NOT NULL,
    digest BLOB    NOT NULL,
    PRIMARY KEY (tenant, board, seq, digest),
    FOREIGN KEY (tenant, digest) REFERENCES blobs (tenant, digest),
    FOREIGN KEY (tenant, board, seq) REFERENCES entries (tenant, board, seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX blob_refs_digest ON blob_refs (tenant, digest);

-- +goose StatementBegin
CREATE TRIGGER blob_ref_made AFTER INSERT ON blob_refs BEGIN
    UPDATE blobs SET refs = refs + 1 WHERE tenant = NEW.tenant AND digest = NEW.digest;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER blob_ref_gone AFTER DELETE ON blob_refs BEGIN
    UPDATE blobs SET refs = refs - 1 WHERE tenant = OLD.tenant AND digest = OLD.digest;
END;
-- +goose StatementEnd

-- The machine that runs on a board: its definition is a blob, which it keeps.
CREATE TABLE machines (
    tenant INTEGER NOT NULL,
    board  INTEGER NOT NULL,
    digest BLOB    NOT NULL,
    PRIMARY KEY (tenant, board),
    FOREIGN KEY (tenant, board) REFERENCES boards (tenant, id),
    FOREIGN KEY (tenant, digest) REFERENCES blobs (tenant, digest)
) STRICT, WITHOUT ROWID;

CREATE INDEX machines_digest ON machines (tenant, digest);

-- +goose StatementBegin
CREATE TRIGGER machine_made AFTER INSERT ON machines BEGIN
    UPDATE blobs SET refs = refs + 1 WHERE tenant = NEW.tenant AND digest = NEW.digest;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER machine_moved AFTER UPDATE OF digest ON machines BEGIN
    UPDATE blobs SET refs = refs + 1 WHERE tenant = NEW.tenant AND digest = NEW.digest;
    UPDATE blobs SET refs = refs - 1 WHERE tenant = OLD.tenant AND digest = OLD.digest;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER machine_gone AFTER DELETE ON machines BEGIN
    UPDATE blobs SET refs = refs - 1 WHERE tenant = OLD.tenant AND digest = OLD.digest;
END;
-- +goose StatementEnd

CREATE TABLE checkpoints (
    tenant INTEGER NOT NULL,
    board  INTEGER NOT NULL,
    seq    INTEGER NOT NULL CHECK (seq >= 0),
    body   BLOB    NOT NULL,
    PRIMARY KEY (tenant, board, seq),
    FOREIGN KEY (tenant, board) REFERENCES machines (tenant, board)
) STRICT;

CREATE TABLE summons (
    tenant      INTEGER NOT NULL,
    board       INTEGER NOT NULL,
    agent       TEXT    NOT NULL CHECK (agent <> ''),
    entry       INTEGER NOT NULL,
    attempt     INTEGER NOT NULL,
    generation  INTEGER NOT NULL CHECK (generation >= 0),
    status      TEXT    NOT NULL CHECK (status IN ('pending', 'sent', 'settled')),
    due         INTEGER,
    lease_until INTEGER,
    sent_at     INTEGER,
    holder      TEXT,
    failure     TEXT,
    PRIMARY KEY (tenant, board, agent),
    FOREIGN KEY (tenant, board) REFERENCES machines (tenant, board)
) STRICT, WITHOUT ROWID;
