//go:build unix

package crash_test

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/botix-pro/sdk-go/botix/botixtest"
)

// What the matrices of the partner half have in common.

// counter is a stage with a partner account, as a test sees it.
type counter struct {
	*stage
	behind  botixtest.Partner
	secrets string
}

func openCounter(dir string, cfg botixtest.Config) (*counter, error) {
	st, err := openStage(dir, cfg)
	if err != nil {
		return nil, err
	}
	c := &counter{st, st.Partner(1), filepath.Join(dir, "secrets")}
	return c, os.Mkdir(c.secrets, 0o700)
}

func (c *counter) do(what string) order {
	o := c.order("", 0)
	o.Do = what
	o.Partner = partnerOrder{Key: c.PartnerKey(), Secrets: c.secrets, Customer: "cust_42"}
	return o
}

// atCounter plays a scenario at an account of its own.
func (c *crew) atCounter(cfg botixtest.Config, play func(*counter, *played) error) (_ *played, err error) {
	dir, err := os.MkdirTemp(c.t.TempDir(), "")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	st, err := openCounter(dir, cfg)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	p := &played{}
	return p, play(st, p)
}

// befallAt is befall at a counter, where eight days may pass afterwards.
func (c *crew) befallAt(st *counter, f fate, expired bool, o order, p *played) (err error) {
	if p.trace, err = c.befall(f, o, st.settled); err != nil || !expired {
		return err
	}
	return c.pass(8*24*time.Hour, st.stage, o)
}
