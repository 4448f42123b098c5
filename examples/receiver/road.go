package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// road carries the platform's deliveries to the shop, over TCP. What happens on it
// is decided by the world.
type road struct {
	tcp *http.Transport

	mu      sync.Mutex
	usual   mishap
	mishaps []mishap // of the deliveries to come, in turn
	seen    delivery
}

// mishap is what happens to one delivery.
type mishap func(carry carrier, d delivery) (*http.Response, error)

// carrier brings a delivery to the shop, and its answer back.
type carrier func(delivery) (*http.Response, error)

// delivery is what can be seen of one on the road.
type delivery struct {
	header http.Header
	body   []byte
}

func newRoad() *road {
	return &road{tcp: &http.Transport{DisableKeepAlives: true}, usual: deliver}
}

// usually says what happens to every delivery of which nothing else is said.
func (r *road) usually(m mishap) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.usual = m
}

// next says what happens to the next delivery.
func (r *road) next(m mishap) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mishaps = append(r.mishaps, m)
}

// last is the latest delivery that was seen.
func (r *road) last() delivery {
	r.mu.Lock()
	defer r.mu.Unlock()
	return delivery{r.seen.header.Clone(), r.seen.body}
}

// RoundTrip implements [http.RoundTripper].
func (r *road) RoundTrip(request *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	d := delivery{request.Header, body}
	r.mu.Lock()
	r.seen = d
	happens := r.usual
	if len(r.mishaps) > 0 {
		happens, r.mishaps = r.mishaps[0], r.mishaps[1:]
	}
	r.mu.Unlock()
	return happens(func(d delivery) (*http.Response, error) {
		onward := request.Clone(request.Context())
		onward.Header, onward.Body, onward.ContentLength = d.header, io.NopCloser(bytes.NewReader(d.body)), int64(len(d.body))
		return r.tcp.RoundTrip(onward)
	}, d)
}

// deliver is when nothing goes wrong.
func deliver(carry carrier, d delivery) (*http.Response, error) { return carry(d) }

// loseAnswer delivers, and the platform does not hear what came of it.
func loseAnswer(carry carrier, d delivery) (*http.Response, error) {
	answer, err := carry(d)
	if err != nil {
		return nil, err
	}
	return nil, errors.Join(errors.New("the connection broke before the answer"), answer.Body.Close())
}

// drop does not deliver.
func drop(carrier, delivery) (*http.Response, error) {
	return nil, errors.New("no way to the receiver")
}

// changeAmount delivers another amount.
func changeAmount(carry carrier, d delivery) (*http.Response, error) {
	d.body = bytes.Replace(d.body, []byte(`"amount":"`), []byte(`"amount":"99`), 1)
	return carry(d)
}

// post delivers something past the road, as anybody can.
func (d delivery) post(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(d.body))
	if err != nil {
		return err
	}
	request.Header = d.header
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("the stranger: %w", err)
	}
	return answer.Body.Close()
}
