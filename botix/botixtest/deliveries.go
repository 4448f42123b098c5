package botixtest

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"slices"
	"time"
)

// retrySchedule is how long after each failed try the next one comes, on the sandbox's clock. After the last the
// delivery has failed.
var retrySchedule = []time.Duration{30 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 6 * time.Hour}

// deliveryTimeout is how long a receiver may take, on the real or bubble clock.
const deliveryTimeout = 10 * time.Second

// Delivery is one event on its way to one subscription.
type Delivery struct {
	WebhookID int64
	URL       string
	Event     string
	Body      string // the signed bytes, the same in every try
	Signature string // X-Botix-Signature
	Status    string // pending, delivered or failed
	Tries     []DeliveryTry
}

// DeliveryTry is one POST of a [Delivery].
type DeliveryTry struct {
	At        time.Time // on the sandbox's clock
	RequestID string    // X-Botix-Request-Id
	Status    int       // 0 when no answer came
	Error     string    // why none came
	Took      time.Duration
}

func (t DeliveryTry) ok() bool { return t.Status/100 == 2 }

// Deliveries returns the webhook delivery log, in order of events.
func (s *Server) Deliveries() []Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Delivery, len(s.deliveries))
	for i, d := range s.deliveries {
		all[i] = d.Delivery
		all[i].Tries = slices.Clone(d.Tries)
	}
	return all
}

// outbound is a delivery with what it takes to make it. Server.mu guards Status and Tries.
type outbound struct {
	Delivery
	hook      *webhook
	requestID string
}

// Emit sends an event to every active subscription of project 1, asked for or not: one of those that no operation causes
// (chat.assigned, scenario.failed), or an invented one.
func (s *Server) Emit(event string, data any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.project(defaultProject)
	for _, w := range p.webhooks {
		if w.Status == "active" {
			s.deliver(s.newDelivery(p, w, event, data))
		}
	}
}

// emit sends an event to the active subscriptions that asked for it. It is called with Server.mu held.
func (s *Server) emit(p *project, event string, data any) {
	for _, w := range p.webhooks {
		if w.Status == "active" && slices.Contains(w.Events, event) {
			s.deliver(s.newDelivery(p, w, event, data))
		}
	}
}

// newDelivery signs an event and enters it in the log. It is called with Server.mu held.
func (s *Server) newDelivery(p *project, w *webhook, event string, data any) *outbound {
	body := encode(map[string]any{
		"event": event, "project_id": p.id, "created_at": s.clock.Now().Format(time.RFC3339), "data": data,
	})
	mac := hmac.New(sha256.New, []byte(w.secret))
	mac.Write(body)
	d := &outbound{
		Delivery: Delivery{
			WebhookID: w.ID, URL: w.URL, Event: event, Status: "pending",
			Body: string(body), Signature: hex.EncodeToString(mac.Sum(nil)),
		},
		hook: w, requestID: s.uuid(),
	}
	s.deliveries = append(s.deliveries, d)
	return d
}

// deliver begins the tries of a delivery on a goroutine of its own. It is called with Server.mu held.
func (s *Server) deliver(d *outbound) {
	if s.closed {
		return
	}
	s.running.Go(func() {
		for _, pause := range retrySchedule {
			try := s.try(d)
			if try.ok() || !s.clock.waitUntil(try.At.Add(pause), s.closing) {
				return
			}
		}
		if try := s.try(d); !try.ok() {
			s.mu.Lock()
			defer s.mu.Unlock()
			d.Status = "failed"
		}
	})
}

// try makes one POST and enters its result in the log.
func (s *Server) try(d *outbound) DeliveryTry {
	s.mu.Lock()
	try := DeliveryTry{At: s.clock.Now(), RequestID: d.requestID}
	if s.config.FreshWebhookIDs && len(d.Tries) > 0 {
		try.RequestID = s.uuid()
	}
	s.mu.Unlock()

	begin := time.Now()
	status, err := s.post(d, try.RequestID)
	try.Took, try.Status = time.Since(begin), status
	if err != nil {
		try.Error = err.Error()
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	d.Tries = append(d.Tries, try)
	if try.ok() {
		now := s.now()
		d.Status, d.hook.FailCount, d.hook.LastDeliveredAt = "delivered", 0, &now
	} else {
		d.hook.FailCount++
	}
	return try
}

func (s *Server) post(d *outbound, requestID string) (status int, err error) {
	if s.hooks == nil {
		return 0, errors.New("no WebhookTransport is configured")
	}
	ctx, cancel := context.WithTimeout(s.life, deliveryTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, d.URL, bytes.NewReader([]byte(d.Body)))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "BOTIX-Webhooks/1.0")
	request.Header.Set("X-Botix-Event", d.Event)
	request.Header.Set("X-Botix-Signature", d.Signature)
	request.Header.Set("X-Botix-Request-Id", requestID)
	response, err := s.hooks.RoundTrip(request) // a redirect is no 2xx, so a failed try
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 1<<20))
	return response.StatusCode, nil
}
