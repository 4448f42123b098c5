package bench

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	_ "github.com/dbos-inc/dbos-transact-golang/dbos/driver/sqlite"
	"github.com/google/uuid"
	"github.com/mikestefanello/backlite"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
	"maragu.dev/goqite"

	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/ledger/sqlite"
	"github.com/botix-pro/sdk-go/retry"
)

// BenchmarkQueues compares the ledger to libraries that keep jobs in SQLite: 64
// goroutines have something trivial done, each durably before and after. The
// contenders take turns, each on files of its own; a ratio is taken inside one
// round, of which b.N are made.
//
// The peers do other things besides, and not all that the ledger does: the
// figures say what a durable start and a durable end cost with each.
func BenchmarkQueues(b *testing.B) {
	contenders := []contender{
		{"ledger", full, func(b *testing.B, dir string) (job, func()) { return openLedger(b, dir, unnamed) }},
		{"ledger-intents", full, func(b *testing.B, dir string) (job, func()) { return openLedger(b, dir, named) }},
		{"goqite", full, openGoqite},
		{"backlite", full, openBacklite},
		{"river", full, func(b *testing.B, dir string) (job, func()) { return openRiver(b, dir, river.Config{}) }},
		{"river-tuned", full, func(b *testing.B, dir string) (job, func()) {
			return openRiver(b, dir, river.Config{FetchCooldown: 2 * time.Millisecond, FetchPollInterval: 20 * time.Millisecond})
		}},
		{"dbos-full", full, func(b *testing.B, dir string) (job, func()) {
			db := openPeerDB(b, dir)
			return openDBOS(b, dbos.Config{SQLiteSystemDB: db}, db.Close)
		}},
		// The pool that DBOS opens by itself: a power cut may lose what has
		// returned.
		{"dbos-own-pool", normal, func(b *testing.B, dir string) (job, func()) {
			return openDBOS(b, dbos.Config{DatabaseURL: "sqlite:" + filepath.Join(dir, "dbos.db")}, func() error { return nil })
		}},
	}
	rates := make(map[string][]float64)
	var perSync, xFull, xNormal, xNamed []float64
	for b.Loop() {
		round := make(map[string]float64)
		dir := b.TempDir()
		probe := syncs(b, dir)
		for _, c := range contenders {
			round[c.name] = c.measure(b, filepath.Join(dir, c.name))
			rates[c.name] = append(rates[c.name], round[c.name])
		}
		perSync = append(perSync, round["ledger"]/((probe+syncs(b, dir))/2))
		best := map[durability]float64{}
		for _, c := range contenders[2:] {
			best[c.durability] = max(best[c.durability], round[c.name])
		}
		xFull = append(xFull, round["ledger"]/best[full])
		xNormal = append(xNormal, round["ledger"]/best[normal])
		xNamed = append(xNamed, round["ledger-intents"]/best[full])
	}
	for name, all := range rates {
		b.ReportMetric(median(all), name+"/s")
	}
	b.ReportMetric(median(perSync), "ledger/sync")
	b.ReportMetric(median(xFull), "x-best-full")
	b.ReportMetric(slices.Min(xFull), "x-best-full-min")
	b.ReportMetric(median(xNamed), "intents-x-best-full")
	b.ReportMetric(median(xNormal), "x-dbos-normal")
	b.ReportMetric(slices.Min(xNormal), "x-dbos-normal-min")
	b.ReportMetric(0, "ns/op") // the time of a round tells nothing
}

const (
	callers = 64
	turn    = 500 * time.Millisecond
	// backlog is how many jobs may wait for the workers of a peer.
	backlog = 512
)

// durability is what a power cut leaves.
type durability bool

const (
	full   durability = true  // synchronous=FULL: all that has returned
	normal durability = false // synchronous=NORMAL: perhaps not the last
)

type contender struct {
	name string
	durability
	open func(b *testing.B, dir string) (job, func())
}

// job is how a contender has something done.
type job struct {
	run  func() error
	done *atomic.Int64 // counts what is done, where run only hands in
}

// measure returns how many jobs a second are handed in and done.
func (c contender) measure(b *testing.B, dir string) float64 {
	b.Helper()
	if err := os.Mkdir(dir, 0o700); err != nil {
		b.Fatal(err)
	}
	j, closeAll := c.open(b, dir)
	defer closeAll()
	var handedIn atomic.Int64
	done := j.done
	if done == nil {
		done = &handedIn
	}
	var wg sync.WaitGroup
	begin := time.Now()
	for range callers {
		wg.Go(func() {
			for time.Since(begin) < turn {
				if handedIn.Load()-done.Load() > backlog {
					time.Sleep(time.Millisecond)
					continue
				}
				if err := j.run(); err != nil {
					b.Errorf("%s: %v", c.name, err)
					return
				}
				handedIn.Add(1)
			}
		})
	}
	wg.Wait()
	for done.Load() < handedIn.Load() {
		if time.Since(begin) > 30*time.Second {
			b.Fatalf("%s: %d of %d jobs done", c.name, done.Load(), handedIn.Load())
		}
		time.Sleep(time.Millisecond)
	}
	return float64(done.Load()) / time.Since(begin).Seconds()
}

// openLedger measures calls with one attempt each, without the calls.
func openLedger(b *testing.B, dir string, intent func(n int64) ledger.Intent) (job, func()) {
	led, err := sqlite.Open(b.Context(), filepath.Join(dir, "ops.db"), ledger.Namespace("shop-prod"))
	if err != nil {
		b.Fatal(err)
	}
	var n atomic.Int64
	return job{run: func() error { n := n.Add(1); return operation(led, n, intent(n)) }}, closer(b, led.Close)
}

// A call that names no intent is as a job of the peers: each is new. One that
// names it is looked up first.
func unnamed(int64) ledger.Intent { return ledger.Intent{} }

func named(n int64) ledger.Intent {
	return ledger.Intent{Customer: fmt.Sprint("customer-", n%5000), Action: "order-confirmed", Version: fmt.Sprint("order-", n)}
}

func operation(led *ledger.Ledger, n int64, intent ledger.Intent) error {
	ctx := context.Background()
	id := uuid.Must(uuid.NewV7()).String()
	draft := ledger.Draft{
		ID: id, Intent: intent, Action: "messagesSend", Driver: ledger.DriverCaller,
		API: "botix", Origin: "https://api.botix.pro", Credential: "0123456789abcdef",
		Payload:   ledger.Payload{Method: "POST", Path: "/public/v1/messages/send", Body: []byte(`{"contact_id":42,"content":"Confirmed"}`)},
		Retention: 24 * time.Hour,
	}
	if intent == (ledger.Intent{}) {
		draft.Key = id
	}
	d, err := led.Open(ctx, &draft)
	if err != nil {
		return err
	}
	defer d.Close()
	allowed := func() error { return nil }
	if err := d.Begin(ctx, allowed); err != nil {
		return err
	}
	now := time.Now()
	return d.End(ledger.Ending{
		Attempt: retry.Attempt{Number: 1, Started: now, Ended: now, Outcome: retry.Succeeded, Status: 200, RequestID: "req_0123456789abcdef"},
		Result:  []byte(`{"id":123456,"status":"sent"}`),
		Target:  ledger.Target{Kind: "message", ID: fmt.Sprint(n), Made: true},
	})
}

// openPeerDB opens a database for a peer as well as can be: WAL, FULL, and one
// connection, without which they get in each other's way.
func openPeerDB(b *testing.B, dir string) *sql.DB {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "queue.db")+
		"?_txlock=immediate&_pragma=busy_timeout(20000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(ON)")
	if err != nil {
		b.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	return db
}

// openGoqite sends, receives and deletes: three transactions.
func openGoqite(b *testing.B, dir string) (job, func()) {
	db := openPeerDB(b, dir)
	module, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "maragu.dev/goqite").Output()
	if err != nil {
		b.Fatal(err)
	}
	schema, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(module)), "schema_sqlite.sql"))
	if err != nil {
		b.Fatal(err)
	}
	if _, err := db.Exec(string(schema)); err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	q := goqite.New(goqite.NewOpts{DB: db, Name: "jobs", Timeout: time.Minute})
	return job{run: func() error {
		if err := q.Send(ctx, goqite.Message{Body: []byte(`{"action":"order-confirmed"}`)}); err != nil {
			return err
		}
		m, err := q.Receive(ctx)
		if err != nil || m == nil {
			return fmt.Errorf("received %v, %w", m, err)
		}
		return q.Delete(ctx, m.ID)
	}}, closer(b, db.Close)
}

type backliteTask struct{ Action string }

func (backliteTask) Config() backlite.QueueConfig {
	return backlite.QueueConfig{
		Name: "jobs", MaxAttempts: 3, Timeout: time.Minute, Backoff: time.Second,
		Retention: &backlite.Retention{Duration: time.Hour},
	}
}

func openBacklite(b *testing.B, dir string) (job, func()) {
	db := openPeerDB(b, dir)
	c, err := backlite.NewClient(backlite.ClientConfig{DB: db, NumWorkers: callers, ReleaseAfter: 10 * time.Minute})
	if err != nil {
		b.Fatal(err)
	}
	if err := c.Install(); err != nil {
		b.Fatal(err)
	}
	done := new(atomic.Int64)
	c.Register(backlite.NewQueue(func(context.Context, backliteTask) error { done.Add(1); return nil }))
	ctx, cancel := context.WithCancel(context.Background())
	c.Start(ctx)
	run := func() error { _, err := c.Add(backliteTask{"order-confirmed"}).Save(); return err }
	return job{run, done}, closer(b, func() error {
		stopping, stop := context.WithTimeout(ctx, 5*time.Second)
		defer stop()
		c.Stop(stopping)
		cancel()
		return db.Close()
	})
}

type riverJob struct {
	Action string `json:"action"`
}

func (riverJob) Kind() string { return "order" }

type riverWorker struct{ river.WorkerDefaults[riverJob] }

func (riverWorker) Work(context.Context, *river.Job[riverJob]) error { return nil }

func openRiver(b *testing.B, dir string, config river.Config) (job, func()) {
	ctx := context.Background()
	db := openPeerDB(b, dir)
	driver := riversqlite.New(db)
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: quiet})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		b.Fatal(err)
	}
	config.Logger, config.Workers = quiet, river.NewWorkers()
	river.AddWorker(config.Workers, riverWorker{})
	config.Queues = map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 100}}
	if config.FetchCooldown > 0 {
		config.Queues[river.QueueDefault] = river.QueueConfig{MaxWorkers: 2000}
	}
	c, err := river.NewClient(driver, &config)
	if err != nil {
		b.Fatal(err)
	}
	completed, unsubscribe := c.SubscribeConfig(&river.SubscribeConfig{
		Kinds: []river.EventKind{river.EventKindJobCompleted}, ChanSize: 1 << 20,
	})
	done := new(atomic.Int64)
	go func() {
		for range completed {
			done.Add(1)
		}
	}()
	if err := c.Start(ctx); err != nil {
		b.Fatal(err)
	}
	run := func() error { _, err := c.Insert(ctx, riverJob{"order-confirmed"}, nil); return err }
	return job{run, done}, closer(b, func() error {
		stopping, stop := context.WithTimeout(ctx, 5*time.Second)
		defer stop()
		err := c.StopAndCancel(stopping)
		unsubscribe()
		if err != nil {
			return err
		}
		return db.Close()
	})
}

func dbosWorkflow(ctx dbos.Context, _ string) (string, error) {
	return dbos.RunAsStep(ctx, func(context.Context) (string, error) { return "ok", nil })
}

func openDBOS(b *testing.B, config dbos.Config, closeDB func() error) (job, func()) {
	config.AppName, config.Logger = "bench", quiet
	ctx, err := dbos.NewContext(context.Background(), config)
	if err != nil {
		b.Fatal(err)
	}
	dbos.RegisterWorkflow(ctx, dbosWorkflow)
	if err := dbos.Launch(ctx); err != nil {
		b.Fatal(err)
	}
	return job{run: func() error {
		h, err := dbos.RunWorkflow(ctx, dbosWorkflow, "order-confirmed")
		if err != nil {
			return err
		}
		_, err = h.GetResult()
		return err
	}}, closer(b, func() error { dbos.Shutdown(ctx, 5*time.Second); return closeDB() })
}

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

func closer(b *testing.B, close func() error) func() {
	return func() {
		if err := close(); err != nil {
			b.Error(err)
		}
	}
}

// syncs returns how often a second the disk syncs 4 KiB that were appended.
func syncs(b *testing.B, dir string) float64 {
	b.Helper()
	f, err := os.Create(filepath.Join(dir, "probe"))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = f.Close() }() // only measured with
	n, begin := 0, time.Now()
	for ; time.Since(begin) < turn/4; n++ {
		if _, err := f.Write(make([]byte, 4096)); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
	}
	return float64(n) / time.Since(begin).Seconds()
}

func median(all []float64) float64 {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}
