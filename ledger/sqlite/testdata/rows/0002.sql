-- Events of every status, and all that hangs on them.
INSERT INTO ledger_inbox (
       seq, namespace, provider, subscription, delivery_key, occurrence, origin,
       event_id, event_type, object_kind, object_id, object_version, occurred_at_ms, payload_hash, payload, sealed, blanked, headers,
       received_at_ms, last_received_at_ms, deliveries, lane, queued, state, effect,
       status, same_as, tries, not_before_ms, last_error, done_at_ms, lease_owner, lease_token, locked_until_ms)
WITH rows (n, status, queued, lane, same_as, tries, last_error, blanked) AS (VALUES
    (1, 'received',   0, 'payment:1', 0, 1, 'the field is not known', 0),
    (2, 'received',   1, 'payment:1', 0, 0, '',                       0),
    (3, 'handled',    0, NULL,        0, 1, '',                       1),
    (4, 'failed',     0, NULL,        0, 8, 'given up',               0),
    (5, 'superseded', 0, NULL,        0, 1, '',                       0),
    (6, 'duplicate',  0, NULL,        3, 0, '',                       0),
    (7, 'discarded',  0, NULL,        0, 3, 'given up',               0))
SELECT n, 'shop-test', 'botix', 'hook-1', printf('delivery-%d', n), 0, iif(n = 5, 'backfill', 'delivery'),
       printf('evt_%d', n), 'payment.succeeded', 'payment', printf('%d', n), '1', 1780000000000 + n, printf('hash-%d', n), iif(blanked, NULL, X'7B7D'), 0, blanked, '{"X-Request-Id":"r"}',
       1780000000000 + n, 1780000000500 + n, 2, lane, queued, iif(n = 5, 'limit:7', NULL), printf('effect-%d', n - (n = 6) * 3),
       status, same_as, tries, 0, last_error, iif(status = 'received', 0, 1780000002000), '', 1, 0
  FROM rows;
INSERT INTO ledger_inbox_conflicts VALUES (3, 'other-hash', X'7B7D', 0, '{}', 1780000000700, 1780000000700, 1);
INSERT INTO ledger_inbox_operations VALUES (3, '019e6f00-0000-7000-8000-000000000001');
INSERT INTO ledger_inbox_history VALUES (1, 7, 1780000002000, 'failed', 'discarded', 'discarded', 3, 'ann', 'it was a test');
INSERT INTO ledger_inbox_watch VALUES ('shop-test', 'botix', 'hook-1', 1780000003000);
INSERT INTO ledger_inbox_gaps VALUES (1, 'shop-test', 'botix', 'hook-1', 1780000000000, 1780000001000, '', '', 1780000002000, 1780000003000, 5, 1),
                                     (2, 'shop-test', 'botix', 'hook-1', 1780000002000, 1780000003000, 'ann', 'the network was down', 1780000004000, 0, 0, 0);
