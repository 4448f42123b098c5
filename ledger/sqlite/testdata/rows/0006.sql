INSERT INTO ledger_workflows (operation_id, states, begun, state, recovers)
VALUES ('019e6f00-0000-7000-8000-000000000010',
       '["pending_create_group","group_created_key_pending","key_created_limit_pending","provisioned"]', 2, 'group_created_key_pending', 0);
INSERT INTO ledger_outbox (operation_id, namespace, api, origin, credential, tries, not_before_ms)
VALUES ('019e6f00-0000-7000-8000-000000000010', 'shop-test', 'partner', 'https://partner.example', 'fedcba9876543210', 1, 1780000009000);
