package ledger

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// Two that are looked up at one moment may stand in each other's way. However they
// come to be, their rests part them: none are together four times in a row.
func TestRestsPartThoseThatCameTogether(t *testing.T) {
	const pairs, together = 2000, time.Second
	stuck := 0
	for i := range pairs {
		a, b := &store.Operation{ID: uuid.NewString()}, &store.Operation{ID: uuid.NewString()}
		met := 0
		for now := time.Hour; met < 4; now += longestRest {
			at := (now + time.Duration(i)*time.Minute).Milliseconds()
			if apart := time.Duration(restUntil(a, at)-restUntil(b, at)) * time.Millisecond; apart.Abs() > together {
				break
			}
			met++
		}
		if met == 4 {
			stuck++
		}
	}
	if stuck > 0 {
		t.Errorf("%d of %d pairs stay together", stuck, pairs)
	}
}
