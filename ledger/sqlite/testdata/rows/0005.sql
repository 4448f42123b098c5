-- Its witness is beside the file, see the test. The archive was moved: its
-- operation has no details here any more.
UPDATE ledger_mark SET line = 'a-line', number = 7, at_ms = 1780000009000;
INSERT INTO ledger_instances VALUES ('host/17/abc', 'host', 'boot', '1', '2', 1780000009000, 15000, 0);
INSERT INTO ledger_decisions VALUES (1, 1780000008000, 'vouched', 'older copy: it was put back', 'ann', 'compared with the list');
INSERT INTO ledger_operations (
       seq, id, kind, steps, namespace, customer, action, version, api, origin, credential, idempotency_key, fingerprint, method, path,
       status, next_step, driver, possibly_sent, attempt_count, first_sent_at_ms, not_before_ms, resend_until_ms,
       request_id, target_kind, target_id, target_owned, result, error_code, error_message,
       created_at_ms, updated_at_ms, lease_owner, lease_token, locked_until_ms)
VALUES (20, '019e6f00-0000-7000-8000-000000000020', 'call', 0, 'shop-test', 'anna', 'order-confirmed', 'order-20',
       'botix', 'https://api.example', '0123456789abcdef', 'key-20',
       'v1:sha256:e70bba28497d6c2c41fcadfe435c3b69945df3e65f674262aaef287d33a6beb9', 'POST', '/public/v1/messages/send',
       'succeeded', '', 'caller', 0, 1, 1780000000020, 0, 0,
       'req-20', 'message', '1020', 1, X'7B226964223A32307D', '', '', 1780000000020, 1780000001020, '', 2, 0);
INSERT INTO ledger_archives (seq, namespace, file, before_ms, who, why, begun_at_ms, sha256, operations, attempts, events, moved_at_ms, lease_owner, lease_token, locked_until_ms)
VALUES (1, 'shop-test', '/archives/a.jsonl.gz', 1780000002000, 'dpo', 'quarterly', 1780000005000, 'ab', 1, 1, 1, 1780000006000, '', 2, 0);
INSERT INTO ledger_archived VALUES ('019e6f00-0000-7000-8000-000000000020', 1);
