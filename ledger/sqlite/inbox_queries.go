package sqlite

// Every statement that runs on the inbox's tables, but for the migrations.

// receivedColumns is the order in which readReceived takes them. A list has a byte
// in place of a payload: a page of them could be gigabytes.
const (
	receivedColumns = columnsBefore + `payload` + columnsAfter
	listedColumns   = columnsBefore + `CASE WHEN payload IS NOT NULL THEN x'00' END` + columnsAfter

	columnsBefore = `
seq, namespace, provider, subscription, delivery_key, occurrence, origin,
event_id, event_type, object_kind, object_id, object_version, occurred_at_ms,
payload_hash, `
	columnsAfter = `, sealed, headers, received_at_ms, last_received_at_ms, deliveries,
COALESCE(lane, ''), COALESCE(state, ''), effect,
status, same_as, tries, not_before_ms, last_error, done_at_ms, lease_owner, lease_token, locked_until_ms`
)

// DO NOTHING stands for the unique indexes only. Whether others of the lane wait
// is asked in the same statement, so that a new event costs only this one: a lane
// in which any wait has a first.
const insertReceived = `
INSERT INTO ledger_inbox (
       namespace, provider, subscription, delivery_key, occurrence, origin,
       event_id, event_type, object_kind, object_id, object_version, occurred_at_ms,
       payload_hash, payload, sealed, blanked, headers, received_at_ms, last_received_at_ms, deliveries,
       lane, state, effect,
       status, same_as, tries, not_before_ms, last_error, done_at_ms, lease_owner, lease_token, locked_until_ms,
       queued)
VALUES (?, ?, ?, ?, ?, ?,
       ?, ?, ?, ?, ?, ?,
       ?, ?, ?, ?, ?, ?, ?, ?,
       ?, ?, ?,
       ?, ?, ?, ?, ?, ?, ?, ?, ?,
       ? = 'received' AND EXISTS (
           SELECT 1 FROM ledger_inbox WHERE namespace = ? AND lane = ? AND status = 'received' AND queued = 0))
    ON CONFLICT DO NOTHING`

const receivedBySeq = `SELECT` + receivedColumns + `
  FROM ledger_inbox WHERE seq = ?1`

const receivedByDelivery = `SELECT` + receivedColumns + `
  FROM ledger_inbox
 WHERE namespace = ?1 AND provider = ?2 AND subscription = ?3 AND delivery_key = ?4
 ORDER BY occurrence DESC LIMIT 1`

const receivedByEffect = `SELECT` + receivedColumns + `
  FROM ledger_inbox WHERE namespace = ?1 AND effect = ?2 AND status <> 'duplicate'`

// For people, and so without an index of its own. The plus keeps SQLite from using
// another, for the order is that of the numbers.
const (
	listReceived       = selectReceived + ` ORDER BY seq LIMIT ?14`
	listReceivedNewest = selectReceived + ` ORDER BY seq DESC LIMIT ?14`

	selectReceived = `SELECT` + listedColumns + `
  FROM ledger_inbox
 WHERE seq > ?2 AND seq < ?3 AND seq >= ?4 AND seq <= ?5 AND +namespace = ?1
   AND (?6 = '' OR provider = ?6) AND (?7 = '' OR subscription = ?7)
   AND (?8 = '' OR event_type = ?8) AND (?9 = '' OR status = ?9)
   AND (?10 = '' OR object_kind = ?10) AND (?11 = '' OR object_id = ?11)
   AND received_at_ms >= ?12 AND received_at_ms < ?13`
)

const deliveredAgain = `
UPDATE ledger_inbox SET deliveries = deliveries + 1, last_received_at_ms = MAX(last_received_at_ms, ?2)
 WHERE seq = ?1`

const dueReceived = `SELECT` + receivedColumns + `
  FROM ledger_inbox INDEXED BY ledger_inbox_due
 WHERE status = 'received' AND queued = 0
   AND namespace = ?1 AND not_before_ms <= ?2 AND locked_until_ms <= ?2
 ORDER BY not_before_ms, seq LIMIT ?3`

// An event that comes back to its lane waits behind the one that is first now.
const updateReceived = `
UPDATE ledger_inbox AS this
   SET status = ?, tries = ?, not_before_ms = ?, last_error = ?, done_at_ms = ?,
       lease_owner = ?, lease_token = ?, locked_until_ms = ?,
       queued = ? = 'received' AND lane IS NOT NULL AND EXISTS (
           SELECT 1 FROM ledger_inbox AS first
            WHERE first.namespace = this.namespace AND first.lane = this.lane
              AND first.status = 'received' AND first.queued = 0 AND first.seq <> this.seq)
 WHERE seq = ? AND lease_token = ?`

// nextInLane makes the oldest event of a lane its first, if it has none.
const nextInLane = `
UPDATE ledger_inbox SET queued = 0
 WHERE seq = (SELECT MIN(seq) FROM ledger_inbox INDEXED BY ledger_inbox_queued
               WHERE namespace = ?1 AND lane = ?2 AND queued = 1)
   AND NOT EXISTS (SELECT 1 FROM ledger_inbox AS first
                    WHERE first.namespace = ?1 AND first.lane = ?2 AND first.status = 'received' AND first.queued = 0)`

const renewReceived = `
UPDATE ledger_inbox SET locked_until_ms = MAX(locked_until_ms, ?3)
 WHERE seq = ?1 AND lease_token = ?2 AND lease_owner <> ''`

const receivedExists = `
SELECT 1 FROM ledger_inbox WHERE seq = ?1`

const handledAfter = `
SELECT 1 FROM ledger_inbox
 WHERE namespace = ?1 AND state = ?2 AND occurred_at_ms > ?3 AND occurred_at_ms <= ?4 AND status = 'handled' LIMIT 1`

const linkOperation = `
INSERT INTO ledger_inbox_operations (event, operation_id) VALUES (?1, ?2) ON CONFLICT DO NOTHING`

// An operation's id grows with time.
const linkedOperations = `
SELECT operation_id FROM ledger_inbox_operations WHERE event = ?1 ORDER BY operation_id`

const linkedEvents = `
SELECT event FROM ledger_inbox_operations WHERE operation_id = ?1 ORDER BY event`

const insertConflict = `
INSERT INTO ledger_inbox_conflicts (event, payload_hash, payload, sealed, headers, received_at_ms, last_received_at_ms, deliveries)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, 1)
    ON CONFLICT (event, payload_hash) DO UPDATE
   SET deliveries = deliveries + 1, last_received_at_ms = MAX(last_received_at_ms, excluded.last_received_at_ms)`

const conflictsOf = `
SELECT event, payload_hash, payload, sealed, headers, received_at_ms, last_received_at_ms, deliveries
  FROM ledger_inbox_conflicts WHERE event = ?1 ORDER BY payload_hash`

const appendReceived = `
INSERT INTO ledger_inbox_history (event, at_ms, from_status, to_status, what, try, who, why)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)`

const receivedHistory = `
SELECT event, at_ms, from_status, to_status, what, try, who, why
  FROM ledger_inbox_history WHERE event = ?1 ORDER BY seq`

const (
	endedBefore = `
SELECT seq FROM ledger_inbox INDEXED BY ledger_inbox_done
 WHERE namespace = ?1 AND blanked = 0 AND done_at_ms > 0 AND done_at_ms < ?2 AND status <> 'failed' LIMIT ?3`

	blankConflicts = `
UPDATE ledger_inbox_conflicts SET payload = NULL, headers = '' WHERE event = ?1`

	blankPayload = `
UPDATE ledger_inbox SET payload = NULL, headers = '', blanked = 1 WHERE seq = ?1`
)

const (
	endedOf = `
SELECT seq FROM ledger_inbox_operations JOIN ledger_inbox ON seq = event
 WHERE operation_id = ?1 AND done_at_ms > 0 AND status <> 'failed'`

	blankWords = `
UPDATE ledger_inbox SET last_error = '' WHERE seq = ?1 AND last_error <> ''`

	blankReasons = `
UPDATE ledger_inbox_history SET why = '' WHERE event = ?1 AND why <> ''`
)

const forgetReceived = `
DELETE FROM ledger_inbox WHERE seq IN (
    SELECT seq FROM ledger_inbox INDEXED BY ledger_inbox_done
     WHERE namespace = ?1 AND blanked = 1 AND done_at_ms > 0 AND done_at_ms < ?2 AND status <> 'failed'
       AND last_received_at_ms < ?2 LIMIT ?3)`

const (
	lastBeat = `
SELECT alive_at_ms FROM ledger_inbox_watch WHERE namespace = ?1 AND provider = ?2 AND subscription = ?3`

	setBeat = `
INSERT INTO ledger_inbox_watch (namespace, provider, subscription, alive_at_ms) VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT (namespace, provider, subscription) DO UPDATE SET alive_at_ms = MAX(alive_at_ms, excluded.alive_at_ms)`
)

const insertGap = `
INSERT INTO ledger_inbox_gaps (namespace, provider, subscription, from_ms, until_ms, who, why, noted_at_ms)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)`

const openGaps = `
SELECT seq, namespace, provider, subscription, from_ms, until_ms, who, why, noted_at_ms
  FROM ledger_inbox_gaps WHERE namespace = ?1 AND closed_at_ms = 0 ORDER BY from_ms, seq`

const closeGap = `
UPDATE ledger_inbox_gaps SET closed_at_ms = ?2, listed = ?3, stored = ?4 WHERE seq = ?1 AND closed_at_ms = 0`
