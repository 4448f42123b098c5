package botix_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/retry"
)

// One key for two payloads is found before it is sent, and where another client
// used it first, by the answer that cannot be this call's.
func TestOneKeyForTwoPayloads(t *testing.T) {
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		anna, boris := s.contact("Анна"), s.contact("Борис")
		key := botix.WithIdempotencyKey("promo")
		other := s.newClient(s.srv.APIKey())
		send := func(c *botix.Client, to botix.ContactID) error {
			_, err := c.Messages.Send(s.Context(), botix.SendMessage{ContactID: to, Content: "x"}, key)
			return err
		}
		if err := errors.Join(send(s.client, anna), send(s.client, anna), send(other, anna)); err != nil {
			s.Errorf("the same call again: %v", err)
		}
		before := len(s.srv.Journal().Calls())
		if err := send(s.client, boris); !errors.Is(err, botix.ErrIdempotencyKeyReused) || retry.OutcomeOf(err) != retry.Conflict {
			s.Errorf("another payload, same client: %v", err)
		}
		if n := len(s.srv.Journal().Calls()); n != before {
			s.Error("it was sent")
		}
		third := s.newClient(s.srv.APIKey())
		if err := send(third, boris); !errors.Is(err, botix.ErrForeignAnswer) || retry.OutcomeOf(err) != retry.Conflict {
			s.Errorf("another payload, another client: %v", err)
		}
		_, err := s.newClient(s.srv.APIKey()).Messages.BulkSend(s.Context(), []botix.SendMessage{{ContactID: boris, Content: "y"}}, key)
		if err == nil {
			s.Error("the answer to a single send was taken for a bulk's")
		}
		if n := len(s.srv.Journal().MessagesTo(int64(boris))); n != 0 {
			s.Errorf("%d messages to another contact", n)
		}
	})
}

// A part of a job under the whole job's key gets the whole job's answer, which
// must not be read as its own.
func TestAPartOfAJobUnderItsKey(t *testing.T) {
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		messages := []botix.SendMessage{
			{ContactID: s.contact("Анна"), Content: "x"}, {ContactID: s.contact("Борис"), Content: "x"}, {ContactID: s.contact("Вера"), Content: "x"},
		}
		s.srv.Script(botixtest.On("messagesBulkSend").Nth(1).Do(botixtest.FailItems("DELIVERY_FAILED", 2)))
		key := botix.WithIdempotencyKey("promo")
		if _, err := s.client.Messages.SendMany(s.Context(), messages, key); err != nil {
			s.Fatal(err)
		}
		report, err := s.newClient(s.srv.APIKey()).Messages.SendMany(s.Context(), messages[2:], key)
		if !errors.Is(err, botix.ErrForeignAnswer) || report.Count(botix.ItemDone) != 0 {
			s.Errorf("%+v, %v; want nothing done and ErrForeignAnswer", report.Items, err)
		}
	})
}

// The error of an unknown outcome holds what resolves it: in a log, too.
func TestAnUnknownOutcomeShowsItsKey(t *testing.T) {
	opts := []botix.Option{botix.WithRetry(retry.Policy{MaxAttempts: 1})}
	inBubble(t, botixtest.Config{}, opts, func(s *sandbox) {
		s.srv.Script(botixtest.On("messagesSend").Do(botixtest.CutAfter()))
		_, err := s.client.Messages.Send(s.Context(), botix.SendMessage{ContactID: s.contact("Анна"), Content: "x"})
		e, ok := errors.AsType[*botix.Error](err)
		if !ok || !strings.Contains(err.Error(), e.Key) {
			s.Errorf("the error does not show the key: %v", err)
		}
	})
}
