INSERT INTO ledger_evidence VALUES (10, '[{"what":"GET /partner/v1/groups/grp_1/keys","at":"2026-05-28T20:26:41Z","read":0,"complete":true,"matches":0,"score":0}]');
