-- What verdicts rest on, and what they lead to.

-- What was read of the server's state before a change was decided.
CREATE TABLE ledger_evidence (
    history_seq INTEGER NOT NULL PRIMARY KEY REFERENCES ledger_history (seq),
    looks       TEXT    NOT NULL CHECK (json_valid(looks) AND length(looks) <= 8192)
) STRICT;

CREATE TRIGGER ledger_evidence_update BEFORE UPDATE ON ledger_evidence
BEGIN
    SELECT RAISE(ABORT, 'evidence does not change');
END;

-- An operation is replaced once. Those that replace none, nearly all, are not in it.
CREATE UNIQUE INDEX ledger_operations_supersedes ON ledger_operations (supersedes) WHERE supersedes IS NOT NULL;
