-- Its notice is there: nothing more is to be left for it.
UPDATE ledger_workflows SET tells = 0;
