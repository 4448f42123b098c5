-- The inbox: events that webhooks brought, in the ledger's own database, so that
-- an event and the operation that it leads to change in one transaction.
--
-- An event has two identities. That of its delivery keeps what a sender repeats
-- from being stored twice; that of its effect keeps one thing that happened from
-- being worked twice, whichever way it was learnt.

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

CREATE UNIQUE INDEX ledger_inbox_delivery ON ledger_inbox (namespace, provider, subscription, delivery_key, occurrence);
CREATE UNIQUE INDEX ledger_inbox_effect   ON ledger_inbox (namespace, effect) WHERE status <> 'duplicate';

-- What waits and may be taken. What waits behind another of its lane is not in it.
CREATE INDEX ledger_inbox_due ON ledger_inbox (namespace, not_before_ms) WHERE status = 'received' AND queued = 0;
-- Of a lane, one event is first.
CREATE UNIQUE INDEX ledger_inbox_first ON ledger_inbox (namespace, lane)
    WHERE lane IS NOT NULL AND status = 'received' AND queued = 0;
CREATE INDEX ledger_inbox_queued ON ledger_inbox (namespace, lane) WHERE queued = 1;
CREATE INDEX ledger_inbox_state  ON ledger_inbox (namespace, state, occurred_at_ms) WHERE state IS NOT NULL AND status = 'handled';
-- For retention: bytes first, identities later.
CREATE INDEX ledger_inbox_done   ON ledger_inbox (namespace, blanked, done_at_ms) WHERE done_at_ms > 0 AND status <> 'failed';

-- What came under the signed id of an event, with other bytes. It is never worked.
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

-- Which operations came of an event, and which events led to an operation.
CREATE TABLE ledger_inbox_operations (
    event        INTEGER NOT NULL REFERENCES ledger_inbox (seq) ON DELETE CASCADE,
    operation_id TEXT    NOT NULL REFERENCES ledger_operations (id),
    PRIMARY KEY (event, operation_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX ledger_inbox_operations_operation ON ledger_inbox_operations (operation_id);

-- What a row does not tell by itself: tries that failed, and what persons decided.
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

-- The one change allowed is to blank a reason, which may name a person.
CREATE TRIGGER ledger_inbox_history_update BEFORE UPDATE ON ledger_inbox_history
WHEN NEW.why <> ''
    OR NEW.seq IS NOT OLD.seq OR NEW.event IS NOT OLD.event OR NEW.at_ms IS NOT OLD.at_ms
    OR NEW.from_status IS NOT OLD.from_status OR NEW.to_status IS NOT OLD.to_status OR NEW.what IS NOT OLD.what
    OR NEW.try IS NOT OLD.try OR NEW.who IS NOT OLD.who
BEGIN
    SELECT RAISE(ABORT, 'the history only grows');
END;

-- Since when the events of a sender could be received without a break.
CREATE TABLE ledger_inbox_watch (
    namespace    TEXT    NOT NULL CHECK (namespace <> ''),
    provider     TEXT    NOT NULL CHECK (provider >= '!' OR trim(provider) <> ''),
    subscription TEXT    NOT NULL,
    alive_at_ms  INTEGER NOT NULL CHECK (alive_at_ms > 0),
    PRIMARY KEY (namespace, provider, subscription)
) STRICT, WITHOUT ROWID;

-- Times in which events may have been missed for good.
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

-- For people with the sqlite3 shell: the events under the names that the
-- platform's articles use, with readable times.
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
