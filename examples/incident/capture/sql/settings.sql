SELECT name, setting, unit, source FROM pg_settings
WHERE name IN ('authentication_timeout', 'autovacuum', 'client_connection_check_interval', 'deadlock_timeout',
  'idle_in_transaction_session_timeout', 'idle_session_timeout', 'lock_timeout', 'log_connections', 'log_lock_waits',
  'max_connections', 'max_replication_slots', 'max_slot_wal_keep_size', 'max_wal_senders', 'max_wal_size',
  'min_wal_size', 'restart_after_crash', 'server_version', 'shared_buffers', 'statement_timeout',
  'superuser_reserved_connections', 'tcp_keepalives_idle', 'wal_keep_size', 'wal_level', 'wal_segment_size', 'work_mem')
ORDER BY name;
