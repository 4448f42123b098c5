-- What machines need: workflows whose steps are planned as they go.

-- How far a workflow has come. Its status is made of those of its operations; a
-- step that has not begun has none yet.
CREATE TABLE ledger_workflows (
    operation_id TEXT    NOT NULL PRIMARY KEY REFERENCES ledger_operations (id),
    -- The names of its states, as JSON: that of each step, then the last.
    states       TEXT    NOT NULL CHECK (json_type(states) = 'array' AND json_array_length(states) >= 2),
    begun        INTEGER NOT NULL CHECK (begun >= 0 AND begun < json_array_length(states)),
    state        TEXT    NOT NULL CHECK (state <> ''),
    recovers     INTEGER NOT NULL CHECK (recovers = 0 OR recovers = 1) -- what waits for a person is its machine's to decide
) STRICT, WITHOUT ROWID;

-- Workflows that have succeeded, until somebody has been told. The place is that
-- of their machine.
CREATE TABLE ledger_outbox (
    operation_id  TEXT    NOT NULL PRIMARY KEY REFERENCES ledger_operations (id),
    namespace     TEXT    NOT NULL,
    api           TEXT    NOT NULL,
    origin        TEXT    NOT NULL,
    credential    TEXT    NOT NULL,
    tries         INTEGER NOT NULL CHECK (tries >= 0),
    not_before_ms INTEGER NOT NULL CHECK (not_before_ms > 0),  -- while a try is under way: when it is given up
    told_at_ms    INTEGER NOT NULL DEFAULT 0 CHECK (told_at_ms >= 0) -- 0 while it waits
) STRICT, WITHOUT ROWID;

CREATE INDEX ledger_outbox_due ON ledger_outbox (namespace, api, origin, credential, not_before_ms) WHERE told_at_ms = 0;

DROP VIEW partner_operations;
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
  FROM ledger_operations AS o LEFT JOIN ledger_workflows AS w ON w.operation_id = o.id;
