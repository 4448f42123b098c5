-- What workers need. Nothing here is touched by a direct call that goes well.

-- What a worker may take up, by place and time: a worker's own operations that
-- wait for no person, and whatever is to be looked up. The query for it repeats
-- the condition word by word, or SQLite would not use the index.
CREATE INDEX ledger_operations_work ON ledger_operations (namespace, api, origin, credential, not_before_ms)
    WHERE next_step = 'look' OR driver = 'worker' AND (status = 'pending' OR next_step = 'resend');

-- Operations that are wanted until a moment only.
CREATE TABLE ledger_expiries (
    operation_id TEXT    NOT NULL PRIMARY KEY REFERENCES ledger_operations (id),
    at_ms        INTEGER NOT NULL CHECK (at_ms > 0)
) STRICT, WITHOUT ROWID;

-- Until when nothing is to be sent at a place, because its server said so.
CREATE TABLE ledger_parked (
    namespace  TEXT    NOT NULL,
    api        TEXT    NOT NULL,
    origin     TEXT    NOT NULL,
    credential TEXT    NOT NULL,
    until_ms   INTEGER NOT NULL CHECK (until_ms > 0),
    PRIMARY KEY (namespace, api, origin, credential)
) STRICT, WITHOUT ROWID;
