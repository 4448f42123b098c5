package sqlite

import (
	"context"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// How far the file is, and who has it open.

const readMark = `
SELECT line, number, at_ms FROM ledger_mark WHERE one = 1`

const setMark = `
UPDATE ledger_mark SET line = ?1, number = ?2, at_ms = ?3 WHERE one = 1`

// There is one row for each process, and few of them.
const instances = `
SELECT id, host, boot, device, file, seen_ms, lease_ms, doubted
  FROM ledger_instances WHERE id > '' ORDER BY id`

const noteInstance = `
INSERT INTO ledger_instances (id, host, boot, device, file, seen_ms, lease_ms, doubted)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
    ON CONFLICT (id) DO UPDATE
   SET host = excluded.host, boot = excluded.boot, device = excluded.device, file = excluded.file,
       seen_ms = excluded.seen_ms, lease_ms = excluded.lease_ms, doubted = excluded.doubted`

const dropInstance = `
DELETE FROM ledger_instances WHERE id = ?1`

const decide = `
INSERT INTO ledger_decisions (at_ms, what, detail, who, why) VALUES (?1, ?2, ?3, ?4, ?5)`

func (t *tx) Mark(ctx context.Context) (m store.Mark, err error) {
	err = t.one(ctx, readMark, nil, func(v []any) error {
		r := reader{row: v}
		r.text(&m.Line)
		r.int64(&m.Number)
		r.int64(&m.At)
		return r.err
	})
	return m, err
}

func (t *tx) SetMark(ctx context.Context, m store.Mark) error {
	_, err := t.exec(ctx, setMark, m.Line, m.Number, m.At)
	return err
}

func (t *tx) Instances(ctx context.Context) (all []store.Instance, err error) {
	err = t.query(ctx, instances, nil, func(v []any) error {
		var i store.Instance
		r := reader{row: v}
		r.text(&i.ID)
		r.text(&i.Site.Host)
		r.text(&i.Site.Boot)
		r.text(&i.Site.Device)
		r.text(&i.Site.File)
		r.int64(&i.Seen)
		r.int64(&i.Lease)
		r.bool(&i.Doubted)
		all = append(all, i)
		return r.err
	})
	return all, err
}

func (t *tx) NoteInstance(ctx context.Context, i *store.Instance) error {
	_, err := t.exec(ctx, noteInstance, i.ID, i.Site.Host, i.Site.Boot, i.Site.Device, i.Site.File, i.Seen, i.Lease, bit(i.Doubted))
	return err
}

func (t *tx) DropInstance(ctx context.Context, id string) error {
	_, err := t.exec(ctx, dropInstance, id)
	return err
}

func (t *tx) Decide(ctx context.Context, d *store.Decision) error {
	_, err := t.exec(ctx, decide, d.At, d.What, d.Detail, d.Who, d.Why)
	return err
}
