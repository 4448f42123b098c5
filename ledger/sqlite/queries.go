package sqlite

// Every statement that runs on the ledger's tables, but for the migrations.
//
// Those with many parameters do not number them: the driver asks for the name of
// each, and SQLite searches a list for it.

// operationColumns is the order in which readOperation takes them.
const operationColumns = `
seq, id, COALESCE(parent_id, ''), kind, steps, namespace, customer, action, version,
api, origin, credential, COALESCE(idempotency_key, ''), fingerprint, COALESCE(method, ''), COALESCE(path, ''), body,
status, next_step, driver, COALESCE(lane, ''), COALESCE(conflict_group, ''), COALESCE(blocked_by, ''), COALESCE(supersedes, ''),
possibly_sent, attempt_count, first_sent_at_ms, not_before_ms, resend_until_ms,
request_id, target_kind, target_id, target_owned, result, error_code, error_message,
created_at_ms, updated_at_ms, lease_owner, lease_token, locked_until_ms`

const operationByID = `SELECT` + operationColumns + `
  FROM ledger_operations WHERE id = ?1`

const operationBySeq = `SELECT` + operationColumns + `
  FROM ledger_operations WHERE seq = ?1`

// The look-ups of a new operation find nothing, and the driver names every
// column of a result before it has a row: so they ask for one.
const (
	seqByIntent = `
SELECT seq FROM ledger_operations
 WHERE namespace = ?1 AND customer = ?2 AND action = ?3 AND version = ?4`

	seqByKey = `
SELECT seq FROM ledger_operations WHERE api = ?1 AND idempotency_key = ?2`

	seqByTarget = `
SELECT seq FROM ledger_operations
 WHERE api = ?1 AND target_kind = ?2 AND target_id = ?3 AND target_owned = 1`

	seqSuccessor = `
SELECT seq FROM ledger_operations WHERE supersedes = ?1`

	seqLastSent = `
SELECT seq FROM ledger_operations
 WHERE lane = ?1 AND (possibly_sent = 1 OR status = 'succeeded') ORDER BY seq DESC LIMIT 1`
)

const children = `SELECT` + operationColumns + `
  FROM ledger_operations AS this
 WHERE parent_id = ?1
   AND (status = 'reconciling'
    OR  NOT EXISTS (SELECT 1 FROM ledger_operations AS newer WHERE newer.parent_id = ?1 AND newer.supersedes = this.id))
 ORDER BY seq`

const inLane = `SELECT` + operationColumns + `
  FROM ledger_operations INDEXED BY ledger_operations_queued
 WHERE lane = ?1 AND status NOT IN ('succeeded', 'failed_final')
 ORDER BY seq`

const unsettled = `SELECT` + operationColumns + `
  FROM ledger_operations
 WHERE conflict_group = ?1 AND status NOT IN ('succeeded', 'failed_final') AND possibly_sent = 1
 ORDER BY seq`

// What is not final is little; a fingerprint needs no index of its own.
const alike = `SELECT` + operationColumns + `
  FROM ledger_operations INDEXED BY ledger_operations_due
 WHERE status NOT IN ('succeeded', 'failed_final') AND possibly_sent = 1 AND fingerprint = ?1
 ORDER BY seq`

// DO NOTHING stands for the unique indexes only; a broken CHECK is an error.
const insertOperation = `
INSERT INTO ledger_operations (
       id, parent_id, kind, steps, namespace, customer, action, version,
       api, origin, credential, idempotency_key, fingerprint, method, path, body,
       status, next_step, driver, lane, conflict_group, blocked_by, supersedes,
       possibly_sent, attempt_count, first_sent_at_ms, not_before_ms, resend_until_ms,
       request_id, target_kind, target_id, target_owned, result, error_code, error_message,
       created_at_ms, updated_at_ms, lease_owner, lease_token, locked_until_ms)
VALUES (?, ?, ?, ?, ?, ?, ?, ?,
       ?, ?, ?, ?, ?, ?, ?, ?,
       ?, ?, ?, ?, ?, ?, ?,
       ?, ?, ?, ?, ?,
       ?, ?, ?, ?, ?, ?, ?,
       ?, ?, ?, ?, ?)
    ON CONFLICT DO NOTHING`

const updateOperation = `
UPDATE ledger_operations
   SET credential = ?, body = ?,
       status = ?, next_step = ?, driver = ?, blocked_by = ?,
       possibly_sent = ?, attempt_count = ?, first_sent_at_ms = ?, not_before_ms = ?, resend_until_ms = ?,
       request_id = ?, target_kind = ?, target_id = ?, target_owned = ?,
       result = ?, error_code = ?, error_message = ?,
       updated_at_ms = ?, lease_owner = ?, lease_token = ?, locked_until_ms = ?
 WHERE seq = ? AND lease_token = ?`

const releaseGroup = `
UPDATE ledger_operations SET blocked_by = NULL, not_before_ms = 0
 WHERE conflict_group = ?1 AND status NOT IN ('succeeded', 'failed_final') AND blocked_by = ?2`

const renewLease = `
UPDATE ledger_operations SET locked_until_ms = MAX(locked_until_ms, ?3)
 WHERE id = ?1 AND lease_token = ?2 AND lease_owner <> ''`

const operationExists = `
SELECT 1 FROM ledger_operations WHERE id = ?1`

const attemptsOf = `
SELECT operation_id, number, started_at_ms, ended_at_ms, method, path, status,
       request_bytes, response_bytes, duration_us, request_id, replayed, outcome, rule, unresolved, evidence,
       rate_limit, rate_remaining, rate_reset, server_offset_ms, error_code, error_message
  FROM ledger_attempts WHERE operation_id = ?1 ORDER BY number`

const insertAttempt = `
INSERT INTO ledger_attempts (operation_id, number, started_at_ms, method, path, unresolved)
VALUES (?, ?, ?, ?, ?, ?)`

const finishAttempt = `
UPDATE ledger_attempts
   SET ended_at_ms = ?, status = ?, request_bytes = ?, response_bytes = ?, duration_us = ?,
       request_id = ?, replayed = ?, outcome = ?, rule = ?, unresolved = ?, evidence = ?,
       rate_limit = ?, rate_remaining = ?, rate_reset = ?, server_offset_ms = ?,
       error_code = ?, error_message = ?
 WHERE operation_id = ? AND number = ? AND ended_at_ms = 0`

const setParent = `
UPDATE ledger_operations SET parent_id = ?2 WHERE id = ?1 AND parent_id IS NULL`

const resolveAttempts = `
UPDATE ledger_attempts SET unresolved = 0 WHERE operation_id = ?1 AND unresolved = 1`

const historyOf = `
SELECT operation_id, at_ms, from_status, to_status, what, attempt, who, why, COALESCE(looks, '')
  FROM ledger_history LEFT JOIN ledger_evidence ON history_seq = seq
 WHERE operation_id = ?1 ORDER BY seq`

const blankAttempts = `
UPDATE ledger_attempts SET error_message = '' WHERE operation_id = ?1 AND error_message <> ''`

const blankHistory = `
UPDATE ledger_history SET why = '' WHERE operation_id = ?1 AND why <> '' AND what <> ?2`

const blankEvidence = `
DELETE FROM ledger_evidence WHERE history_seq IN (SELECT seq FROM ledger_history WHERE operation_id = ?1)`

const appendHistory = `
INSERT INTO ledger_history (operation_id, at_ms, from_status, to_status, what, attempt, who, why)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)`

const appendEvidence = `
INSERT INTO ledger_evidence (history_seq, looks) VALUES (last_insert_rowid(), ?1)`

// What scrubbing needs to know of pages: dbstat and sqlite_dbpage are tables that
// SQLite makes up. A page is only written while it is still as it was read.
const (
	ledgerTables = `
SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB 'ledger_*' ORDER BY name`

	treePages = `
SELECT tree.pageno, page.data
  FROM dbstat AS tree JOIN sqlite_dbpage AS page ON page.pgno = tree.pageno
 WHERE tree.name = ?1 AND tree.pagetype <> 'overflow'`

	replacePage = `
UPDATE sqlite_dbpage SET data = ?2 WHERE pgno = ?1 AND data = ?3`

	truncateWAL = `PRAGMA wal_checkpoint(TRUNCATE)`
	moveWAL     = `PRAGMA wal_checkpoint(PASSIVE)`
	lookAtWAL   = `PRAGMA wal_checkpoint(NOOP)`
)
