package sqlite

import "github.com/botix-pro/sdk-go/ledger/internal/store"

func readReceived(row []any, e *store.Received) error {
	r := reader{row: row}
	r.int64(&e.Seq)
	r.text(&e.Delivery.Namespace)
	r.text(&e.Delivery.Provider)
	r.text(&e.Delivery.Subscription)
	r.text(&e.Delivery.Key)
	r.int(&e.Occurrence)
	r.text(&e.Origin)
	r.text(&e.EventID)
	r.text(&e.Type)
	r.text(&e.ObjectKind)
	r.text(&e.ObjectID)
	r.text(&e.Version)
	r.int64(&e.OccurredAt)
	r.text(&e.PayloadHash)
	r.blob(&e.Payload)
	r.bool(&e.Sealed)
	r.text(&e.Headers)
	r.int64(&e.ReceivedAt)
	r.int64(&e.LastReceivedAt)
	r.int(&e.Deliveries)
	r.text(&e.Lane)
	r.text(&e.State)
	r.text(&e.Effect)
	r.text(&e.Status)
	r.int64(&e.SameAs)
	r.int(&e.Tries)
	r.int64(&e.NotBefore)
	r.text(&e.LastError)
	r.int64(&e.DoneAt)
	r.text(&e.Lease.Owner)
	r.int64(&e.Lease.Token)
	r.int64(&e.Lease.Until)
	return r.err
}

func readConflict(row []any, c *store.Conflict) error {
	r := reader{row: row}
	r.int64(&c.Seq)
	r.text(&c.PayloadHash)
	r.blob(&c.Payload)
	r.bool(&c.Sealed)
	r.text(&c.Headers)
	r.int64(&c.ReceivedAt)
	r.int64(&c.LastReceivedAt)
	r.int(&c.Deliveries)
	return r.err
}

func readReceivedChange(row []any, c *store.ReceivedChange) error {
	r := reader{row: row}
	r.int64(&c.Seq)
	r.int64(&c.At)
	r.text(&c.From)
	r.text(&c.To)
	r.text(&c.What)
	r.int(&c.Try)
	r.text(&c.Who)
	r.text(&c.Why)
	return r.err
}

func readGap(row []any, g *store.Gap) error {
	r := reader{row: row}
	r.int64(&g.Seq)
	r.text(&g.Namespace)
	r.text(&g.Provider)
	r.text(&g.Subscription)
	r.int64(&g.From)
	r.int64(&g.Until)
	r.text(&g.Who)
	r.text(&g.Why)
	r.int64(&g.NotedAt)
	return r.err
}

func readNumber(row []any, n *int64) error {
	r := reader{row: row}
	r.int64(n)
	return r.err
}
