package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"io"
)

// session runs statements inside a transaction.
type session interface {
	// exec runs a statement that returns no rows.
	exec(ctx context.Context, query string, args []any) (driver.Result, error)
	// query calls row with each row's values: int64, string, []byte or nil. The
	// slice is used again for the next.
	query(ctx context.Context, query string, args []any, row func(v []any) error) error
}

// kept is a connection for one goroutine at a time, below database/sql: its
// statements stay prepared.
type kept struct {
	conn  driver.Conn
	stmts map[string]driver.Stmt
	// heed lets statements end with their context. The driver does that by
	// interrupting them, and SQLite answers an interrupted write by rolling the
	// whole transaction back: so it is for readers only.
	heed bool

	args []driver.NamedValue
	row  []driver.Value
	out  []any
}

// maxStatements is how many statements a connection keeps prepared. All but the
// lists, which are made of conditions, are fewer.
const maxStatements = 128

func keep(conn driver.Conn) *kept { return &kept{conn: conn, stmts: make(map[string]driver.Stmt)} }

func (k *kept) close() error {
	k.forget()
	return k.conn.Close()
}

// forget closes the prepared statements; they are made again when needed.
func (k *kept) forget() {
	for query, stmt := range k.stmts {
		_ = stmt.Close() // repeats the error of the statement's last run
		delete(k.stmts, query)
	}
}

func (k *kept) stmt(query string) (driver.Stmt, error) {
	if stmt := k.stmts[query]; stmt != nil {
		return stmt, nil
	}
	if len(k.stmts) >= maxStatements {
		k.forget()
	}
	stmt, err := k.conn.(driver.ConnPrepareContext).PrepareContext(context.Background(), query)
	if err != nil {
		return nil, err
	}
	k.stmts[query] = stmt
	return stmt, nil
}

func (k *kept) context(ctx context.Context) context.Context {
	if k.heed {
		return ctx
	}
	return context.Background()
}

func (k *kept) bind(args []any) []driver.NamedValue {
	k.args = k.args[:0]
	for i, arg := range args {
		k.args = append(k.args, driver.NamedValue{Ordinal: i + 1, Value: arg})
	}
	return k.args
}

func (k *kept) exec(ctx context.Context, query string, args []any) (driver.Result, error) {
	stmt, err := k.stmt(query)
	if err != nil {
		return nil, err
	}
	return stmt.(driver.StmtExecContext).ExecContext(k.context(ctx), k.bind(args))
}

func (k *kept) query(ctx context.Context, query string, args []any, row func([]any) error) (err error) {
	stmt, err := k.stmt(query)
	if err != nil {
		return err
	}
	rows, err := stmt.(driver.StmtQueryContext).QueryContext(k.context(ctx), k.bind(args))
	if err != nil {
		return err
	}
	defer func() {
		if e := rows.Close(); err == nil {
			err = e
		}
	}()
	n := len(rows.Columns())
	k.row, k.out = grow(k.row, n), grow(k.out, n)
	for {
		if err := rows.Next(k.row); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		for i, v := range k.row {
			k.out[i] = v
		}
		if err := row(k.out); err != nil {
			return err
		}
	}
}

func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// lent is a transaction of the caller's own.
type lent struct{ tx *sql.Tx }

func (l lent) exec(ctx context.Context, query string, args []any) (driver.Result, error) {
	return l.tx.ExecContext(ctx, query, args...)
}

func (l lent) query(ctx context.Context, query string, args []any, row func([]any) error) (err error) {
	rows, err := l.tx.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() {
		if e := rows.Close(); err == nil {
			err = e
		}
	}()
	names, err := rows.Columns()
	if err != nil {
		return err
	}
	values, places := make([]any, len(names)), make([]any, len(names))
	for i := range values {
		places[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(places...); err != nil {
			return err
		}
		if err := row(values); err != nil {
			return err
		}
	}
	return rows.Err()
}
