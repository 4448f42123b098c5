-- The money of operations, apart from them: those without any, nearly all, are not
-- in it.

-- An amount is there twice: as it was sent, to the digit, and as a whole number of
-- 10^-8, in which SQL can add. The last CHECK holds the two together. So do those
-- before it, by which no text is CAST otherwise than it reads.
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
