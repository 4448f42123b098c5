INSERT INTO ledger_expiries VALUES ('019e6f00-0000-7000-8000-000000000006', 4070908800000);
INSERT INTO ledger_parked VALUES ('shop-test', 'botix', 'https://api.example', '0123456789abcdef', 1780000060000);
