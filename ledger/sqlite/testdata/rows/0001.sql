-- Rows as a ledger of schema 1 may have them: operations of every status and kind,
-- with attempts that ended in every way or did not, and their history.
INSERT INTO ledger_operations (
       seq, id, parent_id, kind, steps, namespace, customer, action, version,
       api, origin, credential, idempotency_key, fingerprint, method, path, body,
       status, next_step, driver, lane, conflict_group, blocked_by, supersedes,
       possibly_sent, attempt_count, first_sent_at_ms, not_before_ms, resend_until_ms,
       request_id, target_kind, target_id, target_owned, result, error_code, error_message,
       created_at_ms, updated_at_ms, lease_owner, lease_token, locked_until_ms)
WITH rows (n, customer, version, driver, body, status, next_step, possibly_sent, attempt_count, target_id, result, error_code, lane) AS (VALUES
    (1, 'anna',  'order-1',                              'caller', NULL,                        'succeeded',        '',       0, 2, '1001', X'7B226964223A317D', '',             NULL),
    (2, 'anna',  'order-2',                              'caller', NULL,                        'failed_final',     '',       0, 1, '',     NULL,                'VALIDATION',   NULL),
    (3, 'anna',  'order-3',                              'caller', X'7B7D',                     'failed_retryable', 'resend', 0, 1, '',     NULL,                'RATE_LIMITED', NULL),
    (4, 'boris', 'order-4',                              'worker', X'7B7D',                     'failed_retryable', 'person', 0, 1, '',     NULL,                'UNAUTHORIZED', NULL),
    (5, 'boris', 'order-5',                              'worker', X'7B2270686F6E65223A2231227D', 'pending',        '',       0, 0, '',     NULL,                '',             'botix contact:42'),
    (6, 'boris', 'order-6',                              'worker', X'FF637B7D',                 'pending',          '',       0, 0, '',     NULL,                '',             'botix contact:42'),
    (7, '-',     '019e6f00-0000-7000-8000-000000000007', 'caller', X'7B7D',                     'pending',          '',       1, 1, '',     NULL,                '',             NULL),
    (8, 'carl',  'order-8',                              'worker', X'7B7D',                     'reconciling',      'look',   1, 2, '',     NULL,                'SERVER_ERROR', NULL),
    (9, 'carl',  'order-9',                              'caller', NULL,                        'reconciling',      'person', 1, 1, '1009', NULL,                '',             NULL))
SELECT n, printf('019e6f00-0000-7000-8000-%012d', n), NULL, 'call', 0, 'shop-test', customer, 'order-confirmed', version,
       'botix', 'https://api.example', '0123456789abcdef', printf('key-%d', n),
       'v1:sha256:e70bba28497d6c2c41fcadfe435c3b69945df3e65f674262aaef287d33a6beb9', 'POST', '/public/v1/messages/send', body,
       status, next_step, driver, lane, iif(n = 8, 'botix wallet:7', NULL), NULL, NULL,
       possibly_sent, attempt_count, iif(attempt_count > 0, 1780000000000 + n, 0), 0, iif(possibly_sent = 1, 1780086400000, 0),
       iif(n = 1, 'req-1', ''), iif(target_id <> '', 'message', ''), target_id, target_id <> '', result, error_code, iif(error_code <> '', 'said of ' || customer, ''),
       1780000000000 + n, 1780000001000 + n, '', 3, 0
  FROM rows;

-- A workflow that goes on: a step that was done, one that was replaced, and what replaced it.
INSERT INTO ledger_operations (
       seq, id, parent_id, kind, steps, namespace, customer, action, version,
       api, origin, credential, idempotency_key, fingerprint, method, path, body,
       status, next_step, driver, lane, conflict_group, blocked_by, supersedes,
       possibly_sent, attempt_count, first_sent_at_ms, not_before_ms, resend_until_ms,
       request_id, target_kind, target_id, target_owned, result, error_code, error_message,
       created_at_ms, updated_at_ms, lease_owner, lease_token, locked_until_ms)
WITH rows (n, parent, kind, action, version, status, supersedes) AS (VALUES
    (10, NULL, 'workflow', 'provision_customer', 'signup-1',   'pending',      NULL),
    (11, 10,   'call',     'create_group',       'signup-1',   'succeeded',    NULL),
    (12, 10,   'call',     'create_key',         'signup-1',   'failed_final', NULL),
    (13, 10,   'call',     'create_key',         'signup-1~2', 'pending',      12))
SELECT n, printf('019e6f00-0000-7000-8000-%012d', n), iif(parent IS NULL, NULL, printf('019e6f00-0000-7000-8000-%012d', parent)), kind, iif(kind = 'workflow', 3, 0),
       'shop-test', 'dora', action, version,
       iif(kind = 'call', 'partner', ''), iif(kind = 'call', 'https://partner.example', ''), iif(kind = 'call', 'fedcba9876543210', ''), iif(kind = 'call', printf('key-%d', n), NULL),
       'v1:sha256:e1e3e5742e69be9e239b0c84f79633c5d32b3287e6362efefc0feeeb627d4472', iif(kind = 'call', 'POST', NULL), iif(kind = 'call', '/partner/v1/groups', NULL),
       iif(status = 'pending', X'7B2267726F7570223A2267227D', NULL),
       status, '', 'worker', NULL, NULL, NULL, iif(supersedes IS NULL, NULL, printf('019e6f00-0000-7000-8000-%012d', supersedes)),
       0, n = 11 OR n = 12, 0, 0, 0,
       '', iif(n = 11, 'group', ''), iif(n = 11, 'grp_1', ''), n = 11, NULL, '', '',
       1780000000000 + n, 1780000001000 + n, '', 1, 0
  FROM rows;
INSERT INTO ledger_attempts (
       operation_id, number, started_at_ms, ended_at_ms, method, path, status, request_bytes, response_bytes, duration_us,
       request_id, replayed, outcome, rule, unresolved, evidence, rate_limit, rate_remaining, rate_reset, server_offset_ms, error_code, error_message)
WITH rows (n, number, ended, status, outcome, unresolved, evidence, code) AS (VALUES
    (1, 1, 1, 0,   'unknown',   0, 'request written', ''),
    (1, 2, 1, 201, 'succeeded', 0, 'answered',        ''),
    (2, 1, 1, 422, 'rejected',  0, 'answered',        'VALIDATION'),
    (3, 1, 1, 429, 'throttled', 0, 'answered',        'RATE_LIMITED'),
    (4, 1, 1, 401, 'refused',   0, 'answered',        'UNAUTHORIZED'),
    (7, 1, 0, 0,   '',          1, '',                ''),
    (8, 1, 1, 502, 'unknown',   1, 'answered',        'SERVER_ERROR'),
    (8, 2, 1, 0,   'not sent',  0, 'nothing',         ''),
    (9, 1, 1, 0,   'unknown',   1, 'request written', ''),
    (11, 1, 1, 201, 'succeeded', 0, 'answered',       ''),
    (12, 1, 1, 409, 'conflict',  0, 'answered',       'CONFLICT'))
SELECT printf('019e6f00-0000-7000-8000-%012d', n), number, 1780000000100 + number, iif(ended, 1780000000900 + number, 0), 'POST', '/public/v1/messages/send',
       status, 17, 230, 800000, iif(status > 0, printf('req-%d', n), ''), n = 1 AND number = 2, outcome, iif(ended, 'staged', ''), unresolved, evidence,
       60, 47, 1780000060, iif(ended, -1500, NULL), code, iif(code <> '', 'said of it', '')
  FROM rows;

INSERT INTO ledger_history (seq, operation_id, at_ms, from_status, to_status, what, attempt, who, why)
WITH rows (seq, n, was, becomes, what, attempt, who, why) AS (VALUES
    (1,  1,  'pending',      'succeeded',        'ended',     2, '',     ''),
    (2,  2,  'pending',      'failed_final',     'ended',     1, '',     ''),
    (3,  3,  'pending',      'failed_retryable', 'ended',     1, '',     ''),
    (4,  4,  'pending',      'failed_retryable', 'ended',     1, '',     ''),
    (5,  8,  'pending',      'reconciling',      'ended',     1, '',     ''),
    (6,  9,  'pending',      'reconciling',      'ended',     1, '',     ''),
    (7,  9,  'reconciling',  'failed_final',     'abandoned', 0, 'ann',  'nobody waits for it'),
    (8,  9,  'failed_final', 'reconciling',      'late',      1, '',     ''),
    (9,  11, 'pending',      'succeeded',        'ended',     1, '',     ''),
    (10, 12, 'pending',      'failed_final',     'reissued',  0, 'boris', 'it had no effect'),
    (11, 2,  'failed_final', 'failed_final',     'erased',    0, 'dpo',  'request 17'))
SELECT seq, printf('019e6f00-0000-7000-8000-%012d', n), 1780000001000 + seq, was, becomes, what, attempt, who, why FROM rows;
