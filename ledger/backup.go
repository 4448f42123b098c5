package ledger

import "context"

// Backup writes a copy of the ledger's database as it is now to a new file at a
// path, for its owner only, while others go on writing. What was committed before
// the call is in it. The file appears when it is whole and on the disk; where
// there is one, it is fs.ErrExist and stays. A database that is in no file of its
// own has means of its own to be copied: there it is errors.ErrUnsupported.
//
// The copy has all that the database has, also the tables of a program that the
// ledger shares it with, and bodies that have not ended. A long copy keeps the
// database's log from being shortened until it is done.
//
// Open a copy like any ledger. It is an older one as soon as the ledger has gone
// on, and then nothing is sent from it: see [DoubtError].
func (l *Ledger) Backup(ctx context.Context, to string) error {
	if err := l.outsideTx(ctx); err != nil {
		return err
	}
	// A copy that was never marked would not be missed by its witness. That one
	// cannot be told is no reason to have no copy; Close tells of it.
	_ = l.marker.mark(ctx, false)
	return l.store.Backup(ctx, to)
}
