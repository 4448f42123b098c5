-- What is yet to be told of workflows that have succeeded, for people.
CREATE VIEW partner_notices AS
SELECT n.operation_id,
       o.customer      AS external_customer_id,
       o.action,
       o.version,
       n.tries,                                    -- 0: no process was there that wants to hear of it
       strftime('%Y-%m-%dT%H:%M:%fZ', o.updated_at_ms / 1000.0, 'unixepoch') AS succeeded_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', n.not_before_ms / 1000.0, 'unixepoch') AS not_before
  FROM ledger_outbox AS n -- the few first: CROSS keeps the order
 CROSS JOIN ledger_operations AS o ON o.id = n.operation_id;
