package sqlite

import (
	"context"
	"encoding/json"
	"math"
	"strings"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// A list is for people and for programs that look after a ledger. It has no
// index of its own, for each would be paid for by every operation: what is
// looked for by a name is found through the indexes that keep names unique,
// what is not final through that of the work that is left, and anything else by
// reading the operations or the attempts from the newest on. Of a million
// operations that takes less than half a second of CPU.

// listPage takes a way and conditions. The operations are found by their number
// first, so that only those of the page are read whole.
const listPage = `SELECT` + operationColumns + `
  FROM ledger_operations WHERE seq IN (
       SELECT o.seq FROM `

// The parameters of conditions, in the order of listArgs.
const (
	inNamespace = `o.namespace = ?1`
	withID      = `o.id = ?2`
	withParent  = `o.parent_id = ?3`
	ofCustomer  = `o.customer = ?4`
	ofAction    = `o.action = ?5`
	withVersion = `o.version = ?6`
	ofAPI       = `o.api = ?7`
	onPath      = `o.path GLOB ?9`
	inStatus    = `o.status IN (SELECT value FROM json_each(?10))`
	notFinal    = `o.status NOT IN ('succeeded', 'failed_final')`
	createdIn   = `o.created_at_ms >= ?11 AND o.created_at_ms < ?12`
	ofKind      = `o.kind = ?18`
	withNext    = `o.next_step = ?19`

	// Keys are unique for each API, of which there are few: they are looked up
	// one after the other.
	withKey = `o.idempotency_key = ?8 AND o.api IN (
       WITH RECURSIVE apis (api) AS (
              SELECT MIN(api) FROM ledger_operations INDEXED BY ledger_operations_key WHERE idempotency_key IS NOT NULL
              UNION ALL
              SELECT (SELECT MIN(api) FROM ledger_operations INDEXED BY ledger_operations_key
                       WHERE idempotency_key IS NOT NULL AND api > apis.api)
                FROM apis WHERE api IS NOT NULL)
       SELECT api FROM apis)`

	matches    = `(?13 = '' OR a.request_id = ?13) AND a.status BETWEEN ?14 AND ?15`
	hasAttempt = `EXISTS (SELECT 1 FROM ledger_attempts AS a WHERE a.operation_id = o.id AND ` + matches + `)`
	// Several attempts of an operation may match: the last of them stands for it.
	lastAttempt = matches + `
   AND NOT EXISTS (
       SELECT 1 FROM ledger_attempts AS later
        WHERE later.operation_id = a.operation_id AND later.number > a.number
          AND (?13 = '' OR later.request_id = ?13) AND later.status BETWEEN ?14 AND ?15)`

	beforeSeq     = `o.seq < ?16`
	beforeAttempt = `a.operation_id < ?17`
)

func listArgs(f *store.Filter, beforeSeq int64) ([]any, error) {
	statuses, err := json.Marshal(f.Statuses)
	if err != nil {
		return nil, err
	}
	until, from, to := f.Until, int64(0), int64(math.MaxInt64)
	if until == 0 {
		until = math.MaxInt64
	}
	if f.Answer != 0 {
		from, to = 100*int64(f.Answer), 100*int64(f.Answer)+99
	}
	return []any{
		f.Namespace, f.ID, f.ParentID, f.Customer, f.Action, f.Version, f.API, f.Key,
		glob(f.Path), string(statuses), f.From, until, f.RequestID, from, to, beforeSeq, f.Before, f.Kind, f.Next, int64(f.Limit),
	}, nil
}

// glob makes a pattern of SQLite's out of one in which only the star is special.
func glob(pattern string) string {
	return strings.NewReplacer("?", "[?]", "[", "[[]").Replace(pattern)
}

// listWay is how the operations of a list are found. Where they come from names
// the index, so that a schema without it is an error and not a slow list.
type listWay struct {
	name  string
	takes func(f *store.Filter) bool
	from  string
	order string // newest first
}

// An id begins with a time, as seq follows it; each is the order of one table.
const (
	bySeq     = ` ORDER BY o.seq DESC LIMIT ?20) ORDER BY seq DESC`
	byAttempt = ` ORDER BY a.operation_id DESC LIMIT ?20) ORDER BY id DESC`
)

// listWays are tried in this order: the first finds the fewest.
var listWays = []listWay{
	{"id", func(f *store.Filter) bool { return f.ID != "" },
		`ledger_operations AS o INDEXED BY ledger_operations_id`, bySeq},
	{"key", func(f *store.Filter) bool { return f.Key != "" },
		`ledger_operations AS o INDEXED BY ledger_operations_key`, bySeq},
	{"intent", func(f *store.Filter) bool { return f.Action != "" && f.Version != "" },
		`ledger_operations AS o INDEXED BY ledger_operations_intent`, bySeq},
	{"parent", func(f *store.Filter) bool { return f.ParentID != "" },
		`ledger_operations AS o INDEXED BY ledger_operations_parent`, bySeq},
	{"attempts", asksAttempts,
		`ledger_attempts AS a CROSS JOIN ledger_operations AS o INDEXED BY ledger_operations_id ON o.id = a.operation_id`, byAttempt},
	{"open", asksOpen,
		`ledger_operations AS o INDEXED BY ledger_operations_due`, bySeq},
	{"all", func(*store.Filter) bool { return true },
		`ledger_operations AS o NOT INDEXED`, bySeq},
}

func asksAttempts(f *store.Filter) bool { return f.RequestID != "" || f.Answer != 0 }

// asksOpen reports whether only operations that are not final match.
func asksOpen(f *store.Filter) bool {
	for _, status := range f.Statuses {
		if status == "succeeded" || status == "failed_final" {
			return false
		}
	}
	return len(f.Statuses) > 0
}

// listQuery is the statement for a filter, and the way it goes.
func listQuery(f *store.Filter) (query string, way *listWay) {
	for i := range listWays {
		if way = &listWays[i]; way.takes(f) {
			break
		}
	}
	conditions := []string{inNamespace}
	for _, c := range []struct {
		asked bool
		sql   string
	}{
		{f.ID != "", withID},
		{f.ParentID != "", withParent},
		{f.Customer != "", ofCustomer},
		{f.Action != "", ofAction},
		{f.Version != "", withVersion},
		{f.API != "", ofAPI},
		{f.Key != "", withKey},
		{f.Path != "", onPath},
		{len(f.Statuses) > 0, inStatus},
		{asksOpen(f), notFinal},
		{f.Kind != "", ofKind},
		{f.Next != "", withNext},
		{f.From != 0 || f.Until != 0, createdIn},
		{asksAttempts(f) && way.order == bySeq, hasAttempt},
		{asksAttempts(f) && way.order == byAttempt, lastAttempt},
		{f.Before != "" && way.order == bySeq, beforeSeq},
		{f.Before != "" && way.order == byAttempt, beforeAttempt},
	} {
		if c.asked {
			conditions = append(conditions, c.sql)
		}
	}
	return listPage + way.from + ` WHERE ` + strings.Join(conditions, "\n   AND ") + way.order, way
}

func (t *tx) List(ctx context.Context, f *store.Filter) ([]store.Operation, error) {
	var before int64
	if f.Before != "" {
		op, err := t.Operation(ctx, f.Before)
		if err != nil {
			return nil, err
		}
		before = op.Seq
	}
	args, err := listArgs(f, before)
	if err != nil {
		return nil, err
	}
	query, _ := listQuery(f)
	return t.operations(ctx, query, args...)
}
