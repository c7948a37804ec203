//! What the admin APIs promise of a data directory: deleted records stay deleted and give their space back, kill -9 or not.
//! Always against an Ottla of its own.

use std::fs;
use std::path::Path;

use kafka_protocol::messages::create_topics_request::{CreatableTopic, CreatableTopicConfig};
use kafka_protocol::messages::delete_records_request::{
    DeleteRecordsPartition, DeleteRecordsTopic,
};
use kafka_protocol::messages::describe_log_dirs_request::DescribableLogDirTopic;
use kafka_protocol::messages::describe_log_dirs_response::DescribeLogDirsResult;
use kafka_protocol::messages::{
    CreateTopicsRequest, DeleteRecordsRequest, DescribeLogDirsRequest, FetchRequest,
};

use crate::batch::Batch;
use crate::client::{Client, text};
use crate::codes::{NONE, OFFSET_OUT_OF_RANGE, OUT_OF_ORDER_SEQUENCE_NUMBER};
use crate::fetch;
use crate::fixtures::{Topic, produce_request, topic_name, until};
use crate::process::Process;

const PRODUCER: i64 = 7;

struct Broker {
    _process: Process,
    client: Client,
}

impl Broker {
    fn start(dir: &str) -> Broker {
        let (process, address) = Process::dev(&["--log-dir", dir]);
        let client = Client::connect_to(&address);
        Broker { _process: process, client }
    }

    fn create(&mut self) -> Topic {
        let segments = CreatableTopicConfig::default()
            .with_name("segment.bytes".into())
            .with_value(Some(text("1048576")));
        let topic = CreatableTopic::default()
            .with_name(topic_name("t"))
            .with_num_partitions(1)
            .with_replication_factor(1)
            .with_configs(vec![segments]);
        let request = CreateTopicsRequest::default().with_topics(vec![topic]);
        let response = self.client.call(7, &request.with_timeout_ms(10_000));
        assert_eq!(response.topics[0].error_code, NONE);
        Topic { name: "t".to_owned(), id: response.topics[0].topic_id }
    }

    /// One record of 400 kB; error, base offset and log start.
    fn produce(&mut self, topic: &Topic, sequence: i32) -> (i16, i64, i64) {
        let value = "x".repeat(400_000);
        let batch = Batch::of(&[&value]).producer(PRODUCER, 0, sequence);
        let response = self.client.call(9, &produce_request(topic, 0, Some(batch.build())));
        let answer = &response.responses[0].partition_responses[0];
        (answer.error_code, answer.base_offset, answer.log_start_offset)
    }

    fn delete(&mut self, topic: &Topic, before: i64) -> (i16, i64) {
        let partition = DeleteRecordsPartition::default().with_offset(before);
        let topic = DeleteRecordsTopic::default()
            .with_name(topic_name(&topic.name))
            .with_partitions(vec![partition]);
        let request = DeleteRecordsRequest::default().with_topics(vec![topic]);
        let response = self.client.call(2, &request.with_timeout_ms(10_000));
        let answer = &response.topics[0].partitions[0];
        (answer.error_code, answer.low_watermark)
    }

    /// Error, log start and bytes.
    fn fetch(&mut self, topic: &Topic, from: i64) -> (i16, i64, usize) {
        let partition = fetch::partition(0, from).with_partition_max_bytes(10 << 20);
        let wanted: FetchRequest = fetch::request(vec![fetch::of(topic, vec![partition])]);
        let response = self.client.call(12, &wanted);
        let answer = &response.responses[0].partitions[0];
        (answer.error_code, answer.log_start_offset, answer.records.as_ref().unwrap().len())
    }

    fn log_dir(&mut self, topic: &Topic) -> DescribeLogDirsResult {
        let topic = DescribableLogDirTopic::default()
            .with_topic(topic_name(&topic.name))
            .with_partitions(vec![0]);
        let request = DescribeLogDirsRequest::default().with_topics(Some(vec![topic]));
        self.client.call(4, &request).results.remove(0)
    }
}

/// Bytes of all segment files.
fn segment_bytes(dir: &Path) -> u64 {
    let files = |dir: &Path| fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let logs = files(&dir.join("segments")).filter(|path| path.is_dir());
    logs.flat_map(|log| files(&log).collect::<Vec<_>>())
        // Unlinked meanwhile, perhaps.
        .filter_map(|file| fs::metadata(file).ok())
        .map(|file| file.len())
        .sum()
}

#[test]
fn deleted_records_give_their_space_back_and_never_come_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().to_str().unwrap();
    let mut broker = Broker::start(path);
    let topic = broker.create();
    for sequence in 0..10 {
        let base_offset = i64::from(sequence);
        assert_eq!(broker.produce(&topic, sequence), (NONE, base_offset, 0));
    }
    let before = segment_bytes(dir.path());
    assert!(before > 4_000_000, "{before}");
    assert_eq!(broker.log_dir(&topic).topics[0].partitions[0].partition_size, before as i64);
    assert_eq!(broker.delete(&topic, 7), (NONE, 7));
    // Two records fit in a segment.
    until("files to be unlinked", || segment_bytes(dir.path()) <= before * 4 / 10);
    let told = broker.log_dir(&topic);
    assert_eq!(told.topics[0].partitions[0].partition_size, segment_bytes(dir.path()) as i64);
    drop(broker);

    let mut broker = Broker::start(path);
    assert_eq!(broker.fetch(&topic, 6).0, OFFSET_OUT_OF_RANGE);
    let (code, log_start, bytes) = broker.fetch(&topic, 7);
    assert_eq!((code, log_start, bytes > 1_200_000), (NONE, 7, true));
    assert_eq!(broker.produce(&topic, 9), (NONE, 9, 7), "a retry");
    assert_eq!(broker.delete(&topic, -1), (NONE, 10));
    drop(broker);

    let mut broker = Broker::start(path);
    assert_eq!(broker.fetch(&topic, 9).0, OFFSET_OUT_OF_RANGE);
    assert_eq!(broker.fetch(&topic, 10), (NONE, 10, 0));
    assert_eq!(broker.log_dir(&topic).topics[0].partitions[0].partition_size, 0);
    assert_eq!(broker.produce(&topic, 11), (OUT_OF_ORDER_SEQUENCE_NUMBER, -1, 10));
    assert_eq!(broker.produce(&topic, 10), (NONE, 10, 10));
}

#[test]
fn the_directory_is_told_with_its_volume() {
    let dir = tempfile::tempdir().unwrap();
    let mut broker = Broker::start(dir.path().to_str().unwrap());
    let topic = broker.create();
    let told = broker.log_dir(&topic);
    assert_eq!((told.error_code, told.log_dir.as_str()), (NONE, dir.path().to_str().unwrap()));
    assert!(0 < told.usable_bytes && told.usable_bytes <= told.total_bytes, "{told:?}");
}
