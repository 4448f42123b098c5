package partner

import (
	"context"
	"errors"
	"iter"
	"strings"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/retry"
)

// Auditor compares what the ledger has with what the server says. It reads both
// and can change neither: nothing it is made of has a way to. It is safe for
// concurrent use.
type Auditor struct {
	server  reads
	records records
	here    ledger.Place // of the client
	rows    map[string]*endpoint
	names   *spelling
	settle  time.Duration // as long as lists may lag
	memory  time.Duration // as long as an operation may be sent under its key
}

// reads is the Partner API for whoever only looks. The services of a client
// satisfy it.
type reads struct {
	own interface {
		Balance(context.Context, ...CallOption) (*Balance, error)
	}
	groups interface {
		Get(context.Context, GroupID, ...CallOption) (*Group, error)
		All(context.Context, ListGroups, ...CallOption) iter.Seq2[*Group, error]
	}
	keys interface {
		All(context.Context, GroupID, ListKeys, ...CallOption) iter.Seq2[*Key, error]
		read(context.Context, GroupID, KeyID, ...CallOption) (*Key, error)
	}
	projects interface {
		All(context.Context, ListProjects, ...CallOption) iter.Seq2[*Project, error]
	}
	transactions interface {
		All(context.Context, ListTransactions, ...CallOption) iter.Seq2[*Transaction, error]
	}
	audit interface {
		All(context.Context, ListAuditEvents, ...CallOption) iter.Seq2[*AuditEvent, error]
	}
}

// records is a ledger for whoever only looks.
type records interface {
	All(context.Context, ledger.Filter) iter.Seq2[*ledger.Operation, error]
	Body(context.Context, *ledger.Operation, ledger.Significance) ([]byte, error)
	Result(*ledger.Operation) ([]byte, error)
}

// errNoLedger is for what compares with a ledger.
var errNoLedger = errors.New("partner: the client has no ledger to compare with: it was made with WithoutLedger")

// Auditor returns an auditor of the client's ledger and account. It fails for a
// client without a ledger.
func (c *Client) Auditor() (*Auditor, error) {
	e := c.engine
	if e.Ledger == nil {
		return nil, errNoLedger
	}
	return &Auditor{
		server:  c.reads(),
		records: e.Ledger,
		here:    ledger.Place{API: e.API, Origin: e.HTTP.Origin(), Credential: e.Credential},
		rows:    c.rows, names: c.names,
		settle: e.Settle, memory: c.contract.Retention + 24*time.Hour,
	}, nil
}

// reads is the client for whoever only looks.
func (c *Client) reads() reads {
	return reads{own: c, groups: c.Groups, keys: c.Keys, projects: c.Projects, transactions: c.Transactions, audit: c.AuditEvents}
}

// wait is as long as a list may lag. It is not begun where ctx would end it.
func (a *Auditor) wait(ctx context.Context) error {
	if err := retry.Allow(ctx, a.settle); err != nil {
		return err
	}
	return retry.Sleep(ctx, a.settle)
}

// patiently lets the calls that somebody waits for go first.
var patiently = botix.WithBatchPriority()

// once leaves out what a list shows a second time: one that grows at its beginning has
// the end of a page on the next once more.
func once[T any, ID comparable](list iter.Seq2[*T, error], id func(*T) ID) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		met := map[ID]bool{}
		for item, err := range list {
			if err == nil {
				if met[id(item)] {
					continue
				}
				met[id(item)] = true
			}
			if !yield(item, err) {
				return
			}
		}
	}
}

// operations returns an iterator over what the ledger has of one endpoint at this
// server. ids are those that the path is to name; one that is not there may be any.
func (a *Auditor) operations(ctx context.Context, ep *endpoint, ids map[string]string) iter.Seq2[*ledger.Operation, error] {
	return func(yield func(*ledger.Operation, error) bool) {
		path, err := ep.pattern(ids)
		if err != nil {
			yield(nil, err)
			return
		}
		for op, err := range a.records.All(ctx, ledger.Filter{API: a.here.API, Path: path}) {
			if err == nil && (op.Origin != a.here.Origin || !ep.Matches(op.Method, op.Path)) {
				continue
			}
			if !yield(op, err) || err != nil {
				return
			}
		}
	}
}

// pattern is the endpoint's path with the ids, as a [ledger.Filter] takes it.
func (e *endpoint) pattern(ids map[string]string) (string, error) {
	filled := map[string]string{}
	for _, name := range e.args {
		filled[name] = "*"
		if id, ok := ids[name]; ok {
			filled[name] = id
		}
	}
	path, err := e.path(filled)
	if err != nil {
		return "", err
	}
	at := strings.Split(path.String(), "/") // where a star of an id is escaped, and so is ours
	for i, segment := range strings.Split(e.Path, "/") {
		name, isID := strings.CutPrefix(segment, "{")
		if _, named := ids[strings.TrimSuffix(name, "}")]; isID && !named {
			at[i] = "*"
		}
	}
	return strings.Join(at, "/"), nil
}
