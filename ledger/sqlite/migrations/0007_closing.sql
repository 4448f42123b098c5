-- What waits with a key that the server will forget, by when that is. Direct calls
-- that go well are never in it.
CREATE INDEX ledger_operations_closing ON ledger_operations (namespace, resend_until_ms)
    WHERE status = 'reconciling' AND resend_until_ms > 0;
