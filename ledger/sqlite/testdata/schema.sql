CREATE TABLE ledger_meta (
    name  TEXT NOT NULL PRIMARY KEY CHECK (name <> ''),
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE ledger_operations (
    seq               INTEGER PRIMARY KEY,                  -- the order in which they began
    id                TEXT    NOT NULL CHECK (id <> ''),    -- UUIDv7: grows with time, which keeps the index dense
    parent_id         TEXT    REFERENCES ledger_operations (id),
    kind              TEXT    NOT NULL CHECK (kind = 'call' OR kind = 'workflow'),
    steps             INTEGER NOT NULL CHECK (steps >= 0),  -- that a workflow has; 0 of a call

    -- The intent. Never NULL and never blank: either would slip past UNIQUE.
    namespace         TEXT    NOT NULL CHECK (namespace >= '!' OR trim(namespace) <> ''),
    customer          TEXT    NOT NULL CHECK (customer >= '!' OR trim(customer) <> ''),
    action            TEXT    NOT NULL CHECK (action >= '!' OR trim(action) <> ''),
    version           TEXT    NOT NULL CHECK (version >= '!' OR trim(version) <> ''),

    -- The request, fixed for ever; but for the credential, which may change
    -- before the first send, and the body, which goes when it is done with.
    api               TEXT    NOT NULL,
    origin            TEXT    NOT NULL,
    credential        TEXT    NOT NULL,                     -- a hash, never the key itself
    idempotency_key   TEXT,
    fingerprint       TEXT    NOT NULL CHECK (fingerprint <> ''),
    method            TEXT,
    path              TEXT,
    body              BLOB,

    status            TEXT    NOT NULL CHECK (
        status = 'pending' OR status = 'succeeded' OR status = 'failed_retryable'
        OR status = 'failed_final' OR status = 'reconciling'),
    next_step         TEXT    NOT NULL,
    driver            TEXT    NOT NULL CHECK (driver = 'caller' OR driver = 'worker'),
    lane              TEXT    CHECK (lane <> ''),
    conflict_group    TEXT    CHECK (conflict_group <> ''),
    blocked_by        TEXT    CHECK (blocked_by <> ''),
    supersedes        TEXT    REFERENCES ledger_operations (id),

    possibly_sent     INTEGER NOT NULL CHECK (possibly_sent = 0 OR possibly_sent = 1),
    attempt_count     INTEGER NOT NULL CHECK (attempt_count >= 0),
    first_sent_at_ms  INTEGER NOT NULL CHECK (first_sent_at_ms >= 0),
    not_before_ms     INTEGER NOT NULL CHECK (not_before_ms >= 0),
    resend_until_ms   INTEGER NOT NULL CHECK (resend_until_ms >= 0),

    request_id        TEXT    NOT NULL,
    target_kind       TEXT    NOT NULL,
    target_id         TEXT    NOT NULL,
    target_owned      INTEGER NOT NULL CHECK (target_owned = 0 OR target_owned = 1),
    result            BLOB,
    error_code        TEXT    NOT NULL,
    error_message     TEXT    NOT NULL,

    created_at_ms     INTEGER NOT NULL CHECK (created_at_ms > 0),
    updated_at_ms     INTEGER NOT NULL CHECK (updated_at_ms > 0),
    lease_owner       TEXT    NOT NULL,
    lease_token       INTEGER NOT NULL CHECK (lease_token >= 0),
    locked_until_ms   INTEGER NOT NULL CHECK (locked_until_ms >= 0),

    CHECK (kind <> 'call' OR (api <> '' AND origin <> '' AND method IS NOT NULL AND method <> '' AND path IS NOT NULL AND path <> ''
        AND idempotency_key IS NOT NULL AND (idempotency_key >= '!' OR trim(idempotency_key) <> ''))),
    CHECK (kind = 'call' OR (idempotency_key IS NULL AND method IS NULL AND path IS NULL)),
    CHECK (target_owned = 0 OR (target_kind <> '' AND target_id <> '')),
    CHECK (lease_owner <> '' OR locked_until_ms = 0)
) STRICT;

CREATE UNIQUE INDEX ledger_operations_id     ON ledger_operations (id);

CREATE UNIQUE INDEX ledger_operations_intent ON ledger_operations (namespace, action, version, customer);

CREATE UNIQUE INDEX ledger_operations_key    ON ledger_operations (api, idempotency_key) WHERE idempotency_key IS NOT NULL;

CREATE INDEX ledger_operations_due ON ledger_operations (not_before_ms) WHERE status NOT IN ('succeeded', 'failed_final');

CREATE INDEX ledger_operations_parent ON ledger_operations (parent_id) WHERE parent_id IS NOT NULL;

CREATE INDEX ledger_operations_lane   ON ledger_operations (lane) WHERE lane IS NOT NULL;

CREATE INDEX ledger_operations_queued ON ledger_operations (lane)
    WHERE lane IS NOT NULL AND status NOT IN ('succeeded', 'failed_final');

CREATE INDEX ledger_operations_group  ON ledger_operations (conflict_group)
    WHERE conflict_group IS NOT NULL AND status NOT IN ('succeeded', 'failed_final');

CREATE UNIQUE INDEX ledger_operations_target ON ledger_operations (api, target_kind, target_id) WHERE target_owned = 1;

CREATE TABLE ledger_attempts (
    operation_id     TEXT    NOT NULL REFERENCES ledger_operations (id),
    number           INTEGER NOT NULL CHECK (number >= 1),
    started_at_ms    INTEGER NOT NULL CHECK (started_at_ms > 0),
    ended_at_ms      INTEGER NOT NULL DEFAULT 0 CHECK (ended_at_ms >= 0), -- 0 while it is open
    method           TEXT    NOT NULL,
    path             TEXT    NOT NULL,
    status           INTEGER NOT NULL DEFAULT 0 CHECK (status >= 0),     -- 0 when no answer came
    request_bytes    INTEGER NOT NULL DEFAULT 0,
    response_bytes   INTEGER NOT NULL DEFAULT 0,
    duration_us      INTEGER NOT NULL DEFAULT 0,
    request_id       TEXT    NOT NULL DEFAULT '',
    replayed         INTEGER NOT NULL DEFAULT 0 CHECK (replayed = 0 OR replayed = 1),
    outcome          TEXT    NOT NULL DEFAULT '',                        -- '' while it is open
    rule             TEXT    NOT NULL DEFAULT '',
    unresolved       INTEGER NOT NULL CHECK (unresolved = 0 OR unresolved = 1),
    evidence         TEXT    NOT NULL DEFAULT '',
    rate_limit       INTEGER NOT NULL DEFAULT -1,                        -- -1: not said; likewise below
    rate_remaining   INTEGER NOT NULL DEFAULT -1,
    rate_reset       INTEGER NOT NULL DEFAULT -1,
    server_offset_ms INTEGER,                                            -- NULL: not told
    error_code       TEXT    NOT NULL DEFAULT '',
    error_message    TEXT    NOT NULL DEFAULT '',
    PRIMARY KEY (operation_id, number),
    CHECK ((ended_at_ms = 0 AND outcome = '') OR (ended_at_ms <> 0 AND outcome <> ''))
) STRICT, WITHOUT ROWID;

CREATE TABLE ledger_history (
    seq          INTEGER PRIMARY KEY,                                    -- the order of all changes
    operation_id TEXT    NOT NULL REFERENCES ledger_operations (id),
    at_ms        INTEGER NOT NULL CHECK (at_ms > 0),
    from_status  TEXT    NOT NULL CHECK (
        from_status = '' OR from_status = 'pending' OR from_status = 'succeeded' OR from_status = 'failed_retryable'
        OR from_status = 'failed_final' OR from_status = 'reconciling'),
    to_status    TEXT    NOT NULL CHECK (
        to_status = 'pending' OR to_status = 'succeeded' OR to_status = 'failed_retryable'
        OR to_status = 'failed_final' OR to_status = 'reconciling'),
    what         TEXT    NOT NULL CHECK (what <> ''),
    attempt      INTEGER NOT NULL CHECK (attempt >= 0),                  -- 0 when none is concerned
    who          TEXT    NOT NULL,
    why          TEXT    NOT NULL
) STRICT;

CREATE INDEX ledger_history_operation ON ledger_history (operation_id);

CREATE TRIGGER ledger_history_update BEFORE UPDATE ON ledger_history
WHEN NEW.why <> ''
    OR NEW.seq IS NOT OLD.seq OR NEW.operation_id IS NOT OLD.operation_id OR NEW.at_ms IS NOT OLD.at_ms
    OR NEW.from_status IS NOT OLD.from_status OR NEW.to_status IS NOT OLD.to_status OR NEW.what IS NOT OLD.what
    OR NEW.attempt IS NOT OLD.attempt OR NEW.who IS NOT OLD.who
BEGIN
    SELECT RAISE(ABORT, 'the history only grows');
END;

CREATE TRIGGER ledger_history_replace BEFORE INSERT ON ledger_history
WHEN EXISTS (SELECT 1 FROM ledger_history WHERE seq = NEW.seq)
BEGIN
    SELECT RAISE(ABORT, 'the history only grows');
END;

CREATE TABLE ledger_inbox (
    -- The order received. AUTOINCREMENT: a number names an event for ever, also
    -- when the events themselves have been forgotten.
    seq                 INTEGER PRIMARY KEY AUTOINCREMENT,
    namespace           TEXT    NOT NULL CHECK (namespace <> ''),

    provider            TEXT    NOT NULL CHECK (provider >= '!' OR trim(provider) <> ''),
    subscription        TEXT    NOT NULL,
    delivery_key        TEXT    NOT NULL CHECK (delivery_key <> ''), -- the signed id, or a digest of the signed bytes
    occurrence          INTEGER NOT NULL CHECK (occurrence >= 0),
    origin              TEXT    NOT NULL CHECK (origin = 'delivery' OR origin = 'backfill'),

    event_id            TEXT    NOT NULL,                            -- '' where the sender signs none
    event_type          TEXT    NOT NULL CHECK (event_type >= '!' OR trim(event_type) <> ''),
    object_kind         TEXT    NOT NULL,
    object_id           TEXT    NOT NULL,
    object_version      TEXT    NOT NULL,
    occurred_at_ms      INTEGER NOT NULL CHECK (occurred_at_ms >= 0),
    payload_hash        TEXT    NOT NULL CHECK (payload_hash <> ''),
    payload             BLOB,
    sealed              INTEGER NOT NULL CHECK (sealed = 0 OR sealed = 1),
    blanked             INTEGER NOT NULL DEFAULT 0 CHECK (blanked = 0 OR blanked = 1),
    headers             TEXT    NOT NULL,                            -- JSON
    received_at_ms      INTEGER NOT NULL CHECK (received_at_ms > 0),
    last_received_at_ms INTEGER NOT NULL CHECK (last_received_at_ms > 0),
    deliveries          INTEGER NOT NULL CHECK (deliveries >= 1),

    lane                TEXT    CHECK (lane <> ''),                  -- in which one is worked at a time, in order
    queued              INTEGER NOT NULL CHECK (queued = 0 OR queued = 1),   -- behind another of its lane
    state               TEXT    CHECK (state <> ''),                 -- that it sets as a whole
    effect              TEXT    NOT NULL CHECK (effect <> ''),

    status              TEXT    NOT NULL CHECK (
        status = 'received' OR status = 'handled' OR status = 'failed' OR status = 'superseded'
        OR status = 'duplicate' OR status = 'discarded'),
    same_as             INTEGER NOT NULL CHECK (same_as >= 0),       -- of a duplicate: the event that has the effect
    tries               INTEGER NOT NULL CHECK (tries >= 0),
    not_before_ms       INTEGER NOT NULL CHECK (not_before_ms >= 0),
    last_error          TEXT    NOT NULL,
    done_at_ms          INTEGER NOT NULL CHECK (done_at_ms >= 0),    -- 0 while it waits
    lease_owner         TEXT    NOT NULL,
    lease_token         INTEGER NOT NULL CHECK (lease_token >= 0),
    locked_until_ms     INTEGER NOT NULL CHECK (locked_until_ms >= 0),

    CHECK ((blanked = 0 AND payload IS NOT NULL) OR (blanked = 1 AND payload IS NULL)),
    CHECK ((done_at_ms = 0 AND status = 'received') OR (done_at_ms > 0 AND status <> 'received')),
    CHECK ((same_as = 0 AND status <> 'duplicate') OR (same_as > 0 AND status = 'duplicate')),
    CHECK (queued = 0 OR (status = 'received' AND lane IS NOT NULL)),
    CHECK (lease_owner <> '' OR locked_until_ms = 0)
) STRICT;

CREATE TABLE sqlite_sequence(name,seq);

CREATE UNIQUE INDEX ledger_inbox_delivery ON ledger_inbox (namespace, provider, subscription, delivery_key, occurrence);

CREATE UNIQUE INDEX ledger_inbox_effect   ON ledger_inbox (namespace, effect) WHERE status <> 'duplicate';

CREATE INDEX ledger_inbox_due ON ledger_inbox (namespace, not_before_ms) WHERE status = 'received' AND queued = 0;

CREATE UNIQUE INDEX ledger_inbox_first ON ledger_inbox (namespace, lane)
    WHERE lane IS NOT NULL AND status = 'received' AND queued = 0;

CREATE INDEX ledger_inbox_queued ON ledger_inbox (namespace, lane) WHERE queued = 1;

CREATE INDEX ledger_inbox_state  ON ledger_inbox (namespace, state, occurred_at_ms) WHERE state IS NOT NULL AND status = 'handled';

CREATE INDEX ledger_inbox_done   ON ledger_inbox (namespace, blanked, done_at_ms) WHERE done_at_ms > 0 AND status <> 'failed';

CREATE TABLE ledger_inbox_conflicts (
    event               INTEGER NOT NULL REFERENCES ledger_inbox (seq) ON DELETE CASCADE,
    payload_hash        TEXT    NOT NULL CHECK (payload_hash <> ''),
    payload             BLOB,
    sealed              INTEGER NOT NULL CHECK (sealed = 0 OR sealed = 1),
    headers             TEXT    NOT NULL,
    received_at_ms      INTEGER NOT NULL CHECK (received_at_ms > 0),
    last_received_at_ms INTEGER NOT NULL CHECK (last_received_at_ms > 0),
    deliveries          INTEGER NOT NULL CHECK (deliveries >= 1),
    PRIMARY KEY (event, payload_hash)
) STRICT, WITHOUT ROWID;

CREATE TABLE ledger_inbox_operations (
    event        INTEGER NOT NULL REFERENCES ledger_inbox (seq) ON DELETE CASCADE,
    operation_id TEXT    NOT NULL REFERENCES ledger_operations (id),
    PRIMARY KEY (event, operation_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX ledger_inbox_operations_operation ON ledger_inbox_operations (operation_id);

CREATE TABLE ledger_inbox_history (
    seq         INTEGER PRIMARY KEY,
    event       INTEGER NOT NULL REFERENCES ledger_inbox (seq) ON DELETE CASCADE,
    at_ms       INTEGER NOT NULL CHECK (at_ms > 0),
    from_status TEXT    NOT NULL CHECK (from_status <> ''),
    to_status   TEXT    NOT NULL CHECK (to_status <> ''),
    what        TEXT    NOT NULL CHECK (what <> ''),
    try         INTEGER NOT NULL CHECK (try >= 0),
    who         TEXT    NOT NULL,
    why         TEXT    NOT NULL
) STRICT;

CREATE INDEX ledger_inbox_history_event ON ledger_inbox_history (event);

CREATE TRIGGER ledger_inbox_history_update BEFORE UPDATE ON ledger_inbox_history
WHEN NEW.why <> ''
    OR NEW.seq IS NOT OLD.seq OR NEW.event IS NOT OLD.event OR NEW.at_ms IS NOT OLD.at_ms
    OR NEW.from_status IS NOT OLD.from_status OR NEW.to_status IS NOT OLD.to_status OR NEW.what IS NOT OLD.what
    OR NEW.try IS NOT OLD.try OR NEW.who IS NOT OLD.who
BEGIN
    SELECT RAISE(ABORT, 'the history only grows');
END;

CREATE TABLE ledger_inbox_watch (
    namespace    TEXT    NOT NULL CHECK (namespace <> ''),
    provider     TEXT    NOT NULL CHECK (provider >= '!' OR trim(provider) <> ''),
    subscription TEXT    NOT NULL,
    alive_at_ms  INTEGER NOT NULL CHECK (alive_at_ms > 0),
    PRIMARY KEY (namespace, provider, subscription)
) STRICT, WITHOUT ROWID;

CREATE TABLE ledger_inbox_gaps (
    seq          INTEGER PRIMARY KEY AUTOINCREMENT,
    namespace    TEXT    NOT NULL CHECK (namespace <> ''),
    provider     TEXT    NOT NULL CHECK (provider >= '!' OR trim(provider) <> ''),
    subscription TEXT    NOT NULL,
    from_ms      INTEGER NOT NULL CHECK (from_ms > 0),
    until_ms     INTEGER NOT NULL CHECK (until_ms > from_ms),
    who          TEXT    NOT NULL,
    why          TEXT    NOT NULL,
    noted_at_ms  INTEGER NOT NULL CHECK (noted_at_ms > 0),
    closed_at_ms INTEGER NOT NULL DEFAULT 0 CHECK (closed_at_ms >= 0), -- 0 while it is open
    listed       INTEGER NOT NULL DEFAULT 0,                          -- events that the sender was found to have
    stored       INTEGER NOT NULL DEFAULT 0                           -- of which were not here
) STRICT;

CREATE INDEX ledger_inbox_gaps_open ON ledger_inbox_gaps (namespace, from_ms) WHERE closed_at_ms = 0;

CREATE VIEW payment_webhook_events AS
SELECT seq AS id,
       provider,
       subscription,
       coalesce(nullif(event_id, ''), delivery_key) AS event_id,
       event_type,
       strftime('%Y-%m-%dT%H:%M:%fZ', received_at_ms / 1000.0, 'unixepoch') AS received_at,
       payload_hash,
       status AS processing_status,
       (SELECT o.customer FROM ledger_inbox_operations AS l JOIN ledger_operations AS o ON o.id = l.operation_id
         WHERE l.event = e.seq ORDER BY o.seq LIMIT 1) AS linked_customer_id,
       (SELECT o.id FROM ledger_inbox_operations AS l JOIN ledger_operations AS o ON o.id = l.operation_id
         WHERE l.event = e.seq ORDER BY o.seq LIMIT 1) AS linked_operation_id,
       nullif(last_error, '') AS last_error,
       effect,
       nullif(same_as, 0) AS same_effect_as,
       deliveries,
       (SELECT count(*) FROM ledger_inbox_conflicts AS c WHERE c.event = e.seq) AS conflicts,
       tries,
       strftime('%Y-%m-%dT%H:%M:%fZ', nullif(done_at_ms, 0) / 1000.0, 'unixepoch') AS done_at
  FROM ledger_inbox AS e;

CREATE INDEX ledger_operations_work ON ledger_operations (namespace, api, origin, credential, not_before_ms)
    WHERE next_step = 'look' OR driver = 'worker' AND (status = 'pending' OR next_step = 'resend');

CREATE TABLE ledger_expiries (
    operation_id TEXT    NOT NULL PRIMARY KEY REFERENCES ledger_operations (id),
    at_ms        INTEGER NOT NULL CHECK (at_ms > 0)
) STRICT, WITHOUT ROWID;

CREATE TABLE ledger_parked (
    namespace  TEXT    NOT NULL,
    api        TEXT    NOT NULL,
    origin     TEXT    NOT NULL,
    credential TEXT    NOT NULL,
    until_ms   INTEGER NOT NULL CHECK (until_ms > 0),
    PRIMARY KEY (namespace, api, origin, credential)
) STRICT, WITHOUT ROWID;

CREATE TABLE ledger_evidence (
    history_seq INTEGER NOT NULL PRIMARY KEY REFERENCES ledger_history (seq),
    looks       TEXT    NOT NULL CHECK (json_valid(looks) AND length(looks) <= 8192)
) STRICT;

CREATE TRIGGER ledger_evidence_update BEFORE UPDATE ON ledger_evidence
BEGIN
    SELECT RAISE(ABORT, 'evidence does not change');
END;

CREATE UNIQUE INDEX ledger_operations_supersedes ON ledger_operations (supersedes) WHERE supersedes IS NOT NULL;

CREATE TABLE ledger_mark (
    one    INTEGER PRIMARY KEY CHECK (one = 1),
    line   TEXT    NOT NULL CHECK (line <> ''),
    number INTEGER NOT NULL CHECK (number >= 0),  -- 0 until a witness has been told of the line
    at_ms  INTEGER NOT NULL CHECK (at_ms >= 0)
) STRICT;

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

CREATE UNIQUE INDEX ledger_archives_open ON ledger_archives (namespace) WHERE moved_at_ms = 0;

CREATE TABLE ledger_archived (
    operation_id TEXT    NOT NULL REFERENCES ledger_operations (id),
    archive      INTEGER NOT NULL CHECK (archive > 0),
    PRIMARY KEY (operation_id, archive)
) STRICT, WITHOUT ROWID;

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

CREATE TABLE ledger_workflows (
    operation_id TEXT    NOT NULL PRIMARY KEY REFERENCES ledger_operations (id),
    -- The names of its states, as JSON: that of each step, then the last.
    states       TEXT    NOT NULL CHECK (json_type(states) = 'array' AND json_array_length(states) >= 2),
    begun        INTEGER NOT NULL CHECK (begun >= 0 AND begun < json_array_length(states)),
    state        TEXT    NOT NULL CHECK (state <> ''),
    recovers     INTEGER NOT NULL CHECK (recovers = 0 OR recovers = 1) -- what waits for a person is its machine's to decide
, tells INTEGER NOT NULL DEFAULT 1 CHECK (tells = 0 OR tells = 1)) STRICT, WITHOUT ROWID;

CREATE TABLE ledger_outbox (
    operation_id  TEXT    NOT NULL PRIMARY KEY REFERENCES ledger_operations (id),
    namespace     TEXT    NOT NULL,
    api           TEXT    NOT NULL,
    origin        TEXT    NOT NULL,
    credential    TEXT    NOT NULL,
    tries         INTEGER NOT NULL CHECK (tries >= 0),
    not_before_ms INTEGER NOT NULL CHECK (not_before_ms > 0)) STRICT, WITHOUT ROWID;

CREATE INDEX ledger_operations_closing ON ledger_operations (namespace, resend_until_ms)
    WHERE status = 'reconciling' AND resend_until_ms > 0;

CREATE INDEX ledger_outbox_due ON ledger_outbox (namespace, api, origin, credential, not_before_ms);

CREATE TABLE ledger_amounts (
    operation_id TEXT    NOT NULL PRIMARY KEY REFERENCES ledger_operations (id),
    kind         TEXT    NOT NULL CHECK (kind = 'moved' OR kind = 'set'),
    amount       TEXT    NOT NULL CHECK (length(amount) <= 30),
    units        INTEGER NOT NULL,
    currency     TEXT    NOT NULL CHECK (length(currency) <= 16), -- '' where nobody told

    -- A minus or none, digits without superfluous zeros in front, and a point only
    -- between digits.
    CHECK ((amount GLOB '[0-9]*' OR amount GLOB '-[0-9]*') AND amount NOT GLOB '?*[^0-9.]*'),
    CHECK (amount NOT GLOB '0[0-9]*' AND amount NOT GLOB '-0[0-9]*'),
    CHECK (amount NOT GLOB '*.' AND amount NOT GLOB '*.*.*'),
    CHECK (instr(amount || currency, char(0)) = 0), -- behind which neither GLOB nor CAST looks
    -- At most 10 digits before the point, and nothing but zeros after 8 behind it.
    CHECK (instr(amount || '.', '.') <= 11 + (amount GLOB '-*')),
    CHECK (trim(substr(amount, instr(amount || '.', '.') + 9), '0') = ''),
    CHECK (units = CAST(substr(amount, 1, instr(amount || '.', '.') - 1)
        || substr(substr(amount, instr(amount || '.', '.') + 1) || '00000000', 1, 8) AS INTEGER))
) STRICT, WITHOUT ROWID;

CREATE TRIGGER ledger_amounts_update BEFORE UPDATE ON ledger_amounts
BEGIN
    SELECT RAISE(ABORT, 'amounts do not change');
END;

CREATE TRIGGER ledger_amounts_delete BEFORE DELETE ON ledger_amounts
BEGIN
    SELECT RAISE(ABORT, 'amounts do not change');
END;

CREATE TRIGGER ledger_amounts_replace BEFORE INSERT ON ledger_amounts
WHEN EXISTS (SELECT 1 FROM ledger_amounts WHERE operation_id = NEW.operation_id)
BEGIN
    SELECT RAISE(ABORT, 'amounts do not change');
END;

CREATE VIEW partner_operations AS
SELECT o.id            AS operation_id,
       o.parent_id     AS parent_operation_id,
       o.customer      AS external_customer_id,
       o.action,
       o.version,
       o.api,
       o.idempotency_key,
       o.fingerprint   AS request_fingerprint,
       nullif(o.request_id, '') AS model_gate_request_id,
       nullif(o.target_id, '')  AS target_public_id,
       o.status,
       w.state,
       a.amount,                                   -- a text: no digit is lost
       nullif(a.currency, '')   AS currency,
       a.units         AS amount_units,            -- of 10^-8: what sum() may add
       a.kind          AS amount_kind,             -- moved, or set as a bound
       nullif(o.next_step, '')  AS next_step,
       o.possibly_sent,
       o.attempt_count,
       nullif(o.error_code, '')    AS last_error_code,
       nullif(o.error_message, '') AS last_error_message,
       strftime('%Y-%m-%dT%H:%M:%fZ', o.created_at_ms / 1000.0, 'unixepoch') AS created_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', o.updated_at_ms / 1000.0, 'unixepoch') AS updated_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', nullif(o.first_sent_at_ms, 0) / 1000.0, 'unixepoch') AS first_sent_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', nullif(o.not_before_ms, 0) / 1000.0, 'unixepoch')    AS not_before,
       strftime('%Y-%m-%dT%H:%M:%fZ', nullif(o.locked_until_ms, 0) / 1000.0, 'unixepoch')  AS locked_until
  FROM ledger_operations AS o
  LEFT JOIN ledger_workflows AS w ON w.operation_id = o.id
  LEFT JOIN ledger_amounts   AS a ON a.operation_id = o.id;

CREATE VIEW partner_notices AS
SELECT n.operation_id,
       o.customer      AS external_customer_id,
       o.action,
       o.version,
       n.tries,                                    -- 0: no process was there that wants to hear of it
       strftime('%Y-%m-%dT%H:%M:%fZ', o.updated_at_ms / 1000.0, 'unixepoch') AS succeeded_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', n.not_before_ms / 1000.0, 'unixepoch') AS not_before
  FROM ledger_outbox AS n -- the few first: CROSS keeps the order
 CROSS JOIN ledger_operations AS o ON o.id = n.operation_id;

