-- The outbox has what is yet to be told, and nothing else.

-- A workflow knows whether somebody is to be told that it has succeeded. Those begun
-- before are told as they were.
ALTER TABLE ledger_workflows ADD COLUMN tells INTEGER NOT NULL DEFAULT 1 CHECK (tells = 0 OR tells = 1);
UPDATE ledger_workflows SET tells = 0
 WHERE operation_id IN (SELECT operation_id FROM ledger_outbox)
    OR operation_id IN (SELECT id FROM ledger_operations WHERE kind = 'workflow' AND status = 'succeeded');

-- What was told is gone.
DELETE FROM ledger_outbox WHERE told_at_ms > 0;
DROP INDEX ledger_outbox_due;
ALTER TABLE ledger_outbox DROP COLUMN told_at_ms;
CREATE INDEX ledger_outbox_due ON ledger_outbox (namespace, api, origin, credential, not_before_ms);
