//! Protocol tests: raw frames against a broker, one file per API.
//!
//! With `BOOTSTRAP=host:port` they run against that broker, real Kafka included (`compat/kafka/start` starts one);
//! otherwise against an Ottla of their own, in process and in memory. Every expected value is what Kafka 4.1.1
//! answered; where Ottla differs on purpose, the test says so and accepts both.
//!
//! Names of topics and groups are new in every run, so the tests run in parallel and repeatedly against one broker.
//! Not here: the rules themselves (unit tests beside each machine) and clients (`compat/`).
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test binary")]

mod batch;
mod broker;
mod client;
mod codes;
mod differential;
mod fixtures;
mod members;
mod process;

mod alter_configs;
mod alter_partition_reassignments;
mod alter_replica_log_dirs;
mod api_versions;
mod binary;
mod connection;
mod create_acls;
mod create_partitions;
mod create_topics;
mod delete_acls;
mod delete_groups;
mod delete_records;
mod delete_topics;
mod describe_acls;
mod describe_client_quotas;
mod describe_cluster;
mod describe_configs;
mod describe_groups;
mod describe_log_dirs;
mod describe_producers;
mod describe_quorum;
mod describe_topic_partitions;
mod describe_transactions;
mod describe_user_scram_credentials;
mod elect_leaders;
mod fetch;
mod fetch_sessions;
mod find_coordinator;
mod heartbeat;
mod hostile;
mod incremental_alter_configs;
mod init_producer_id;
mod join_group;
mod leave_group;
mod list_config_resources;
mod list_groups;
mod list_offsets;
mod list_partition_reassignments;
mod list_transactions;
mod metadata;
mod offset_commit;
mod offset_delete;
mod offset_fetch;
mod offset_for_leader_epoch;
mod on_disk;
mod produce;
mod produce_records;
mod sync_group;
mod update_features;
