-- What keeps a ledger from sending on the word of an old or a copied file, and
-- where the details of old operations have gone.

-- How far this file is. The number grows while the file is written to, about once
-- a second; a witness elsewhere knows one that was here for certain. Whoever
-- vouches for a file that is behind gives it another line: what two copies have
-- in common ends there.
CREATE TABLE ledger_mark (
    one    INTEGER PRIMARY KEY CHECK (one = 1),
    line   TEXT    NOT NULL CHECK (line <> ''),
    number INTEGER NOT NULL CHECK (number >= 0),  -- 0 until a witness has been told of the line
    at_ms  INTEGER NOT NULL CHECK (at_ms >= 0)
) STRICT;
INSERT INTO ledger_mark (one, line, number, at_ms) VALUES (1, lower(hex(randomblob(16))), 0, 0);

-- Who had the file open at its last marks, and where. Whoever closes it is gone
-- from here.
CREATE TABLE ledger_instances (
    id       TEXT    NOT NULL PRIMARY KEY CHECK (id <> ''),
    host     TEXT    NOT NULL,
    boot     TEXT    NOT NULL,                    -- which start of which kernel; '' where that cannot be told
    device   TEXT    NOT NULL,
    file     TEXT    NOT NULL CHECK (file <> ''), -- on the device
    seen_ms  INTEGER NOT NULL CHECK (seen_ms > 0),
    lease_ms INTEGER NOT NULL CHECK (lease_ms > 0),
    doubted  INTEGER NOT NULL DEFAULT 0 CHECK (doubted = 0 OR doubted = 1) -- it was alive when another place opened the file
) STRICT, WITHOUT ROWID;

-- What persons decided about the ledger as a whole.
CREATE TABLE ledger_decisions (
    seq    INTEGER PRIMARY KEY,
    at_ms  INTEGER NOT NULL CHECK (at_ms > 0),
    what   TEXT    NOT NULL CHECK (what <> ''),
    detail TEXT    NOT NULL,
    who    TEXT    NOT NULL CHECK (who <> ''),
    why    TEXT    NOT NULL CHECK (why <> '')
) STRICT;

CREATE TRIGGER ledger_decisions_update BEFORE UPDATE ON ledger_decisions
BEGIN
    SELECT RAISE(ABORT, 'decisions only grow');
END;

CREATE TRIGGER ledger_decisions_delete BEFORE DELETE ON ledger_decisions
BEGIN
    SELECT RAISE(ABORT, 'decisions only grow');
END;

CREATE TRIGGER ledger_decisions_replace BEFORE INSERT ON ledger_decisions
WHEN EXISTS (SELECT 1 FROM ledger_decisions WHERE seq = NEW.seq)
BEGIN
    SELECT RAISE(ABORT, 'decisions only grow');
END;

-- Files that details of operations were moved to: attempts and history. First the
-- archive is here, then the file is whole and has a checksum, then its rows go.
CREATE TABLE ledger_archives (
    seq             INTEGER PRIMARY KEY AUTOINCREMENT,
    namespace       TEXT    NOT NULL CHECK (namespace <> ''),
    file            TEXT    NOT NULL CHECK (file <> ''),
    before_ms       INTEGER NOT NULL CHECK (before_ms > 0),              -- what had ended by then
    who             TEXT    NOT NULL CHECK (who <> ''),
    why             TEXT    NOT NULL CHECK (why <> ''),
    begun_at_ms     INTEGER NOT NULL CHECK (begun_at_ms > 0),
    sha256          TEXT    NOT NULL DEFAULT '',                         -- of the file; '' until it is whole
    operations      INTEGER NOT NULL DEFAULT 0 CHECK (operations >= 0),
    attempts        INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    events          INTEGER NOT NULL DEFAULT 0 CHECK (events >= 0),
    moved_at_ms     INTEGER NOT NULL DEFAULT 0 CHECK (moved_at_ms >= 0), -- 0 until all its rows are gone
    lease_owner     TEXT    NOT NULL,
    lease_token     INTEGER NOT NULL CHECK (lease_token >= 0),
    locked_until_ms INTEGER NOT NULL CHECK (locked_until_ms >= 0),
    CHECK (moved_at_ms = 0 OR sha256 <> ''),
    CHECK (lease_owner <> '' OR locked_until_ms = 0)
) STRICT;
-- One at a time: what two had taken would be in both.
CREATE UNIQUE INDEX ledger_archives_open ON ledger_archives (namespace) WHERE moved_at_ms = 0;

-- Which operations an archive has details of. These rows stay. A reference to the
-- archive would have each new archive look through all of them.
CREATE TABLE ledger_archived (
    operation_id TEXT    NOT NULL REFERENCES ledger_operations (id),
    archive      INTEGER NOT NULL CHECK (archive > 0),
    PRIMARY KEY (operation_id, archive)
) STRICT, WITHOUT ROWID;

-- History goes nowhere else, and attempts neither.
DROP TRIGGER ledger_history_delete;
CREATE TRIGGER ledger_history_delete BEFORE DELETE ON ledger_history
WHEN NOT EXISTS (
    SELECT 1 FROM ledger_archived AS there JOIN ledger_archives AS a ON a.seq = there.archive
     WHERE there.operation_id = OLD.operation_id AND a.sha256 <> '' AND a.moved_at_ms = 0)
BEGIN
    SELECT RAISE(ABORT, 'the history only grows');
END;

CREATE TRIGGER ledger_attempts_delete BEFORE DELETE ON ledger_attempts
WHEN NOT EXISTS (
    SELECT 1 FROM ledger_archived AS there JOIN ledger_archives AS a ON a.seq = there.archive
     WHERE there.operation_id = OLD.operation_id AND a.sha256 <> '' AND a.moved_at_ms = 0)
BEGIN
    SELECT RAISE(ABORT, 'attempts are kept until they are in an archive');
END;
