package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	lib "modernc.org/sqlite/lib"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// These faults belong to a whole process, so each has one of its own.
func init() {
	helpers["full"] = helpFull
	helpers["limited"] = helpLimited
	helpers["readonly"] = helpReadOnly
}

func TestF057FullFileSystem(t *testing.T) {
	t.Parallel()
	h := prepareHelper(t, "full", t.TempDir())
	// A mount of its own, as root or as what looks like root to the kernel.
	h.cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if os.Getuid() != 0 {
		h.cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		h.cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		h.cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	if err := h.cmd.Start(); errors.Is(err, syscall.EPERM) {
		t.Skip("this system lets nobody mount a file system")
	} else if err != nil {
		t.Fatal(err)
	}
	if h.line() == "no mount" {
		t.Skip("this system lets nobody mount a file system")
	}
	h.end(t)
}

func helpFull(args []string) error {
	dir := args[0]
	err := errors.Join(
		syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""),
		syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=640k"))
	if err != nil {
		fmt.Println("no mount")
		return nil
	}
	fmt.Println("mounted")
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 160<<10), 0o600); err != nil {
		return err
	}
	ctx := context.Background()
	s, err := OpenStore(ctx, filepath.Join(dir, "ops.db"))
	if err != nil {
		return err
	}
	last, err := fill(ctx, s)
	if u, ok := errors.AsType[*store.UnavailableError](err); !ok || u.Reason != "disk full" || u.Uncertain {
		return fmt.Errorf("on a full disk: %w", err)
	}
	if err := look(ctx, s, last); err != nil {
		return fmt.Errorf("reading on a full disk: %w", err)
	}
	if err := os.Remove(ballast); err != nil {
		return err
	}
	if _, err := try(ctx, s); err != nil {
		return fmt.Errorf("after there is room again: %w", err)
	}
	return errors.Join(look(ctx, s, last), s.Close())
}

// fill writes until it fails and returns the last operation that was kept.
func fill(ctx context.Context, s store.Store) (last string, err error) {
	for range 10_000 {
		id, err := try(ctx, s)
		if err != nil {
			return last, err
		}
		last = id
	}
	return last, nil
}

func look(ctx context.Context, s store.Store, id string) error {
	return s.Read(ctx, func(tx store.Tx) error {
		_, err := tx.Operation(ctx, id)
		return err
	})
}

func TestFileSizeLimit(t *testing.T) {
	t.Parallel()
	startHelper(t, "limited", filepath.Join(t.TempDir(), "ops.db")).end(t)
}

func helpLimited(args []string) error {
	signal.Ignore(syscall.SIGXFSZ)
	ctx := context.Background()
	s, err := OpenStore(ctx, args[0])
	if err != nil {
		return err
	}
	limit := syscall.Rlimit{Cur: 400 << 10, Max: 400 << 10}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	last, err := fill(ctx, s)
	u, ok := errors.AsType[*store.UnavailableError](err)
	if !ok || u.Reason != "I/O error" || !u.Uncertain || code(u.Err) != lib.SQLITE_IOERR_WRITE {
		return fmt.Errorf("at the limit: %w", err)
	}
	if _, err := try(ctx, s); err == nil {
		return errors.New("the store goes on after a commit that failed in the middle")
	}
	return errors.Join(look(ctx, s, last), s.Close())
}

func TestReadOnlyFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "ops.db")
	s := openAt(t, path)
	put(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 { // who may write everything; the helper will not be
		err := errors.Join(os.Chown(path, nobody, nobody), os.Chown(dir, nobody, nobody), os.Chmod(filepath.Dir(dir), 0o755))
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(path, 0o400); err != nil {
		t.Fatal(err)
	}
	startHelper(t, "readonly", path).end(t)
}

const nobody = 65534

func helpReadOnly(args []string) error {
	if os.Getuid() == 0 {
		if err := syscall.Setuid(nobody); err != nil {
			return err
		}
	}
	_, err := OpenStore(context.Background(), args[0])
	if reasonOf(err) != "read-only" {
		return fmt.Errorf("OpenStore = %w", err)
	}
	return nil
}
