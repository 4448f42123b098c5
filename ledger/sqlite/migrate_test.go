package sqlite

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
	"github.com/botix-pro/sdk-go/ledger/internal/storetest"
)

var update = flag.Bool("update", false, "rewrite the files in testdata")

func TestSchema(t *testing.T) {
	t.Parallel()
	got := schemaOf(t, openNew(t))
	golden := filepath.Join("testdata", "schema.sql")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the schema is not that of %s; a released migration must not change. It is now:\n%s", golden, got)
	}
}

// schemaOf is all that makes up the schema, in the order in which it was made.
func schemaOf(t *testing.T, d *database) string {
	t.Helper()
	rows, err := d.Handle().QueryContext(t.Context(), "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			t.Fatal(err)
		}
		all.WriteString(text + ";\n\n")
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// bare is a connection to a new file, without any schema.
func bare(t *testing.T) *kept {
	t.Helper()
	c, err := connect(filepath.Join(t.TempDir(), "a.db"), "", writing)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := c.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	k := keep(conn)
	t.Cleanup(func() { _ = k.close() })
	return k
}

func TestMigrations(t *testing.T) {
	t.Parallel()
	released := migrations()
	next := func(n int, name string) string { return fmt.Sprintf("%04d_%s.sql", len(released)+n, name) }
	steps := append(slices.Clone(released),
		migration{next(1, "more"), "CREATE TABLE ledger_more (a TEXT) STRICT; INSERT INTO ledger_more VALUES ('once');"},
		migration{next(2, "even_more"), "ALTER TABLE ledger_more ADD COLUMN b TEXT"})
	for from := range len(steps) + 1 {
		k := bare(t)
		for _, known := range [][]migration{steps[:from], steps, steps} {
			if err := migrate(k, known); err != nil {
				t.Fatalf("from version %d to %d: %v", from, len(known), err)
			}
		}
		n := 0
		err := k.query(t.Context(), "SELECT a, b FROM ledger_more", nil, func([]any) error { n++; return nil })
		if err != nil || n != 1 {
			t.Errorf("from version %d: %d rows, %v; want 1", from, n, err)
		}
		err = migrate(k, steps[:len(steps)-1])
		is, knows := fmt.Sprintf("version %d", len(steps)), fmt.Sprintf("up to %d", len(steps)-1)
		if err == nil || !strings.Contains(err.Error(), is) || !strings.Contains(err.Error(), knows) {
			t.Errorf("a program that knows one version less than there is: %v", err)
		}
	}

	broken := append(slices.Clone(released),
		migration{next(1, "broken"), "CREATE TABLE ledger_more (a TEXT) STRICT; INSERT INTO nowhere VALUES (1)"})
	k := bare(t)
	if err := migrate(k, broken); err == nil || !strings.Contains(err.Error(), next(1, "broken")) {
		t.Errorf("a broken step: %v", err)
	}
	if version, err := readVersion(t.Context(), k); version != 0 || err != nil {
		t.Errorf("a broken step left version %d, %v", version, err)
	}
	if err := migrate(k, steps); err != nil {
		t.Errorf("and then the right one: %v", err)
	}
}

func TestNewerSchemaIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ops.db")
	d := openAt(t, path)
	op := put(t, d)
	if _, err := d.Handle().ExecContext(t.Context(), "UPDATE ledger_meta SET value = '99' WHERE name = 'schema'"); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenStore(t.Context(), path); err == nil || !strings.Contains(err.Error(), "version 99") || !strings.Contains(err.Error(), path) {
		t.Errorf("OpenStore = %v", err)
	}
	if !has(t, d, op.ID) {
		t.Error("and the operation is gone")
	}
}

func TestF063ManyStartAtOnce(t *testing.T) {
	t.Parallel()
	for round := range 4 {
		path := filepath.Join(t.TempDir(), "ops.db")
		if round == 3 { // a file that has everything already
			openAt(t, path)
		}
		var all []*helper
		for range 5 {
			h := startHelper(t, "open", path)
			all = append(all, h)
		}
		killed := all[0]
		if round == 1 {
			killed.kill(t) // perhaps in the middle of it
			all = all[1:]
		}
		for _, h := range all {
			if line := h.line(); line != "open" {
				t.Errorf("round %d: a process that started said %q: %s", round, line, h.stderr.String())
			}
			h.end(t)
		}
		d := openAt(t, path)
		checkIntegrity(t, d)
		var versions, tables int
		err := d.Handle().QueryRowContext(t.Context(), `SELECT (SELECT COUNT(*) FROM ledger_meta),
			(SELECT COUNT(*) FROM sqlite_schema WHERE name = 'ledger_operations')`).Scan(&versions, &tables)
		if err != nil || versions != 1 || tables != 1 {
			t.Errorf("round %d: %d versions, %d tables, %v", round, versions, tables, err)
		}
	}
}

func TestF063ManyOpenInOneProcess(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ops.db")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			s, err := OpenStore(t.Context(), path)
			if err != nil {
				t.Error(err)
				return
			}
			op := storetest.NewOperation()
			if err := s.Write(t.Context(), func(tx store.Tx) error { return tx.Insert(t.Context(), op) }); err != nil {
				t.Error(err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	var n int
	if err := openAt(t, path).Handle().QueryRowContext(t.Context(), "SELECT COUNT(*) FROM ledger_operations").Scan(&n); err != nil || n != 8 {
		t.Errorf("%d operations, %v; want 8", n, err)
	}
}

func TestHistoryOnlyGrows(t *testing.T) {
	t.Parallel()
	d := openNew(t)
	op := put(t, d)
	event := store.Event{OperationID: op.ID, At: op.CreatedAt, To: "pending", What: "begun", Who: "ann", Why: "called by Иван Петров"}
	if err := d.Write(t.Context(), func(tx store.Tx) error { return tx.Append(t.Context(), &event) }); err != nil {
		t.Fatal(err)
	}
	values := fmt.Sprintf("(seq, operation_id, at_ms, from_status, to_status, what, attempt, who, why) VALUES (1, '%s', 5, '', 'succeeded', 'x', 0, '', '')", op.ID)
	// The second connection is set as the sqlite3 shell's would be.
	for _, recursive := range []int{1, 0} {
		conn, err := d.Handle().Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range []string{
			fmt.Sprintf("PRAGMA recursive_triggers = %d", recursive),
			fmt.Sprintf("PRAGMA foreign_keys = %d", recursive),
		} {
			if _, err := conn.ExecContext(t.Context(), q); err != nil {
				t.Fatal(err)
			}
		}
		for _, q := range []string{
			"UPDATE ledger_history SET to_status = 'succeeded'",
			"UPDATE ledger_history SET who = ''",
			"UPDATE ledger_history SET why = 'another'",
			"UPDATE ledger_history SET at_ms = at_ms + 1, why = ''",
			"DELETE FROM ledger_history",
			"INSERT OR REPLACE INTO ledger_history " + values,
			"REPLACE INTO ledger_history " + values,
			"INSERT INTO ledger_history " + values + " ON CONFLICT (seq) DO UPDATE SET what = 'x'",
			"UPDATE OR REPLACE ledger_history SET seq = seq + 1",
		} {
			if _, err := conn.ExecContext(t.Context(), q); err == nil {
				t.Errorf("recursive_triggers %d: %s was done", recursive, q)
			}
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
	events := func() (all []store.Event) {
		err := d.Read(t.Context(), func(tx store.Tx) (err error) {
			all, err = tx.History(t.Context(), op.ID)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	if got := events(); len(got) != 1 || got[0] != event {
		t.Errorf("the history is now %+v", got)
	}
	// A reason may name a person, and so may be blanked.
	if _, err := d.Handle().ExecContext(t.Context(), "UPDATE ledger_history SET why = ''"); err != nil {
		t.Errorf("blanking a reason: %v", err)
	}
	event.Why = ""
	if got := events(); len(got) != 1 || got[0] != event {
		t.Errorf("after blanking the reason: %+v", got)
	}
}

func TestF036DirectInsertsOfBlankIntents(t *testing.T) {
	t.Parallel()
	d := openNew(t)
	good := put(t, d)
	const columns = `parent_id, kind, namespace, customer, action, version, api, origin, credential, idempotency_key, fingerprint, method, path, body,
		status, next_step, driver, lane, conflict_group, blocked_by, supersedes, possibly_sent, attempt_count, first_sent_at_ms, not_before_ms,
		resend_until_ms, request_id, target_kind, target_id, target_owned, result, error_code, error_message, created_at_ms, updated_at_ms,
		lease_owner, lease_token, locked_until_ms`
	for _, column := range []string{"namespace", "customer", "action", "version"} {
		for _, blank := range []string{"NULL", "''", "'   '"} {
			selected := strings.Replace(columns, column+",", blank+",", 1)
			selected = strings.Replace(selected, "idempotency_key,", "'other',", 1)
			_, err := d.Handle().ExecContext(t.Context(),
				"INSERT INTO ledger_operations (id, "+columns+") SELECT 'x', "+selected+" FROM ledger_operations WHERE id = ?", good.ID)
			if err == nil {
				t.Errorf("a row with %s = %s was inserted", column, blank)
			}
		}
	}
}

func TestViewForPeople(t *testing.T) {
	t.Parallel()
	d := openNew(t)
	op, a := benchOperation(benchNumber.Add(1))
	op.CreatedAt, op.Lease.Until = 1_780_000_000_123, 1_780_000_015_123
	if err := d.Write(t.Context(), beginUnit(op, a)); err != nil {
		t.Fatal(err)
	}
	var id, customer, action, key, fingerprint, status, created, locked string
	var attempts int
	var target, code any
	err := d.Handle().QueryRowContext(t.Context(), `
		SELECT operation_id, external_customer_id, action, idempotency_key, request_fingerprint, target_public_id,
		       status, attempt_count, last_error_code, created_at, locked_until
		  FROM partner_operations`).Scan(&id, &customer, &action, &key, &fingerprint, &target, &status, &attempts, &code, &created, &locked)
	if err != nil {
		t.Fatal(err)
	}
	got := []any{id, customer, action, key, fingerprint, target, status, attempts, code, created, locked}
	want := []any{op.ID, op.Intent.Customer, op.Intent.Action, op.Key, op.Fingerprint, nil, "pending", 1, nil, "2026-05-28T20:26:40.123Z", "2026-05-28T20:26:55.123Z"}
	if fmt.Sprint(got...) != fmt.Sprint(want...) {
		t.Errorf("partner_operations:\n got %v\nwant %v", got, want)
	}
}

// No query may look at rows that it does not want: the ledger grows for ever.
func TestQueryPlans(t *testing.T) {
	t.Parallel()
	d := openNew(t)
	queries := map[string]string{
		"operationByID": operationByID, "operationBySeq": operationBySeq, "seqByIntent": seqByIntent, "seqByKey": seqByKey,
		"seqByTarget": seqByTarget, "seqLastSent": seqLastSent, "children": children, "due": due, "interrupted": interrupted, "sentAfter": sentAfter, "inLane": inLane, "unsettled": unsettled,
		"insertOperation": insertOperation, "updateOperation": updateOperation, "renewLease": renewLease, "operationExists": operationExists,
		"attemptsOf": attemptsOf, "insertAttempt": insertAttempt, "finishAttempt": finishAttempt, "resolveAttempts": resolveAttempts, "setParent": setParent,
		"historyOf": historyOf, "appendHistory": appendHistory, "appendEvidence": appendEvidence, "blankEvidence": blankEvidence,
		"seqSuccessor": seqSuccessor, "ahead": ahead, "closingUnclear": closingUnclear, "releaseGroup": releaseGroup,

		"insertReceived": insertReceived, "receivedBySeq": receivedBySeq, "receivedByDelivery": receivedByDelivery,
		"receivedByEffect": receivedByEffect, "listReceived": listReceived, "listReceivedNewest": listReceivedNewest, "deliveredAgain": deliveredAgain,
		"dueReceived": dueReceived, "updateReceived": updateReceived, "nextInLane": nextInLane, "renewReceived": renewReceived,
		"receivedExists": receivedExists, "handledAfter": handledAfter, "linkOperation": linkOperation,
		"linkedOperations": linkedOperations, "linkedEvents": linkedEvents, "insertConflict": insertConflict,
		"conflictsOf": conflictsOf, "appendReceived": appendReceived, "receivedHistory": receivedHistory,
		"endedBefore": endedBefore, "blankConflicts": blankConflicts, "blankPayload": blankPayload, "endedOf": endedOf, "blankWords": blankWords, "blankReasons": blankReasons, "forgetReceived": forgetReceived,
		"lastBeat": lastBeat, "setBeat": setBeat, "insertGap": insertGap, "openGaps": openGaps, "closeGap": closeGap,
		"setExpiry": setExpiry, "expiryOf": expiryOf, "park": park, "parkedUntil": parkedUntil,
		"readMark": readMark, "setMark": setMark, "instances": instances, "noteInstance": noteInstance, "dropInstance": dropInstance, "decide": decide,
		"workflowOf": workflowOf, "insertWorkflow": insertWorkflow, "updateWorkflow": updateWorkflow,
		"insertNotice": insertNotice, "dueNotices": dueNotices, "updateNotice": updateNotice, "dropNotice": dropNotice,
		"insertArchive": insertArchive, "updateArchive": updateArchive, "openArchive": openArchive, "archives": archives, "archivesOf": archivesOf,
		"insertAmount": insertAmount, "amountsOf": amountsOf,
		"notices": "SELECT * FROM partner_notices",
		"movable": movable, "noteArchived": noteArchived, "dropAttempts": dropAttempts, "dropHistory": dropHistory,
	}
	if len(queries) > maxStatements*3/4 {
		t.Errorf("%d statements, and those of lists, may be more than the %d that stay prepared", len(queries), maxStatements)
	}
	for name, q := range queries {
		rows, err := d.Handle().QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+q, make([]any, strings.Count(q, "?"))...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for rows.Next() {
			var id, parent, unused int
			var step string
			if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
				t.Fatal(err)
			}
			bounded := step == "SCAN CONSTANT ROW" || step == "SCAN (subquery-1)" || // the one of ahead has a limit
				strings.HasPrefix(step, "SCAN json_each ") || // of what the query was given
				name == "notices" && step == "SCAN n" // of what is yet to be told, which goes
			if strings.Contains(step, "SCAN") && !bounded || strings.Contains(step, "TEMP B-TREE") {
				t.Errorf("%s: %s", name, step)
			}
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			t.Error(err)
		}
	}
}
