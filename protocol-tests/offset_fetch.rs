//! OffsetFetch: v1-9.

use kafka_protocol::messages::OffsetFetchRequest;
use kafka_protocol::messages::offset_fetch_request::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics,
};

use crate::client::call;
use crate::codes::NONE;
use crate::fixtures::{Topic, group, topic, topic_name, unique};
use crate::members::group_id;
use crate::offset_commit::commit_simple;
use uuid::Uuid;

/// (topic, partition, offset, leader epoch, metadata, error)
type Entry = (String, i32, i64, i32, String, i16);

/// One group's offsets at any version: its error and entries, sorted. None asks for all.
fn fetch(version: i16, group: &str, wanted: Option<&[(&Topic, &[i32])]>) -> (i16, Vec<Entry>) {
    let (error, mut entries) = if version < 8 {
        fetch_single(version, group, wanted)
    } else {
        fetch_batched(version, group, wanted)
    };
    entries.sort();
    (error, entries)
}

fn fetch_single(
    version: i16,
    group: &str,
    wanted: Option<&[(&Topic, &[i32])]>,
) -> (i16, Vec<Entry>) {
    let topics = wanted.map(|wanted| {
        let topic = |(topic, indexes): &(&Topic, &[i32])| {
            OffsetFetchRequestTopic::default()
                .with_name(topic_name(&topic.name))
                .with_partition_indexes(indexes.to_vec())
        };
        wanted.iter().map(topic).collect()
    });
    let request = OffsetFetchRequest::default().with_group_id(group_id(group)).with_topics(topics);
    let response = call(version, &request);
    let entries = response.topics.iter().flat_map(|topic| {
        topic.partitions.iter().map(|it| {
            let metadata = it.metadata.as_deref().expect("never null").to_owned();
            let name = topic.name.to_string();
            (
                name,
                it.partition_index,
                it.committed_offset,
                it.committed_leader_epoch,
                metadata,
                it.error_code,
            )
        })
    });
    (response.error_code, entries.collect())
}

fn fetch_batched(
    version: i16,
    group: &str,
    wanted: Option<&[(&Topic, &[i32])]>,
) -> (i16, Vec<Entry>) {
    let request = OffsetFetchRequest::default().with_groups(vec![batched(group, wanted)]);
    let response = call(version, &request);
    assert_eq!(response.groups.len(), 1);
    let answered = &response.groups[0];
    assert_eq!(&**answered.group_id, group);
    let entries = answered.topics.iter().flat_map(|topic| {
        topic.partitions.iter().map(|it| {
            let metadata = it.metadata.as_deref().expect("never null").to_owned();
            let name = topic.name.to_string();
            (
                name,
                it.partition_index,
                it.committed_offset,
                it.committed_leader_epoch,
                metadata,
                it.error_code,
            )
        })
    });
    (answered.error_code, entries.collect())
}

fn batched(group: &str, wanted: Option<&[(&Topic, &[i32])]>) -> OffsetFetchRequestGroup {
    let topics = wanted.map(|wanted| {
        let topic = |(topic, indexes): &(&Topic, &[i32])| {
            OffsetFetchRequestTopics::default()
                .with_name(topic_name(&topic.name))
                .with_partition_indexes(indexes.to_vec())
        };
        wanted.iter().map(topic).collect()
    });
    OffsetFetchRequestGroup::default().with_group_id(group_id(group)).with_topics(topics)
}

/// (offset, leader epoch, metadata) of one partition.
pub fn committed(group: &str, topic: &Topic, index: i32) -> (i64, i32, String) {
    let (error, mut entries) = fetch(8, group, Some(&[(topic, &[index])]));
    assert_eq!((error, entries.len()), (NONE, 1));
    let (_, _, offset, epoch, metadata, code) = entries.remove(0);
    assert_eq!(code, NONE);
    (offset, epoch, metadata)
}

fn entry(topic: &Topic, index: i32, offset: i64) -> Entry {
    (topic.name.clone(), index, offset, -1, String::new(), NONE)
}

/// What was never committed has offset -1, epoch -1 and empty metadata, and is no error.
#[test]
fn every_version_fetches() {
    let topic = topic("offset-fetch", 3);
    let group = group("offset-fetch");
    for version in 1..=9 {
        assert_eq!(commit_simple(&group, &topic, 1, 5), NONE);
        let (error, entries) = fetch(version, &group, Some(&[(&topic, &[0, 1])]));
        assert_eq!(error, NONE, "v{version}");
        assert_eq!(entries, [entry(&topic, 0, -1), entry(&topic, 1, 5)], "v{version}");
    }
}

#[test]
fn unknown_groups_topics_and_partitions() {
    let known = topic("offset-fetch-known", 1);
    let unknown = Topic { name: unique("offset-fetch-unknown"), id: Uuid::nil() };
    let ready = group("offset-fetch-unknowns");
    for version in 1..=9 {
        let wanted: [(&Topic, &[i32]); 1] = [(&known, &[0])];
        let (error, entries) = fetch(version, &unique("no-group"), Some(&wanted));
        assert_eq!((error, entries), (NONE, vec![entry(&known, 0, -1)]), "v{version}");

        let wanted: [(&Topic, &[i32]); 2] = [(&known, &[7]), (&unknown, &[0])];
        let (error, mut entries) = fetch(version, &ready, Some(&wanted));
        entries.sort();
        let mut expected = vec![entry(&known, 7, -1), entry(&unknown, 0, -1)];
        expected.sort();
        assert_eq!((error, entries), (NONE, expected), "v{version}");
    }
}

/// From v2 on, no list asks for all that is committed.
#[test]
fn all_topics() {
    let (a, b) = (topic("offset-fetch-all-a", 2), topic("offset-fetch-all-b", 1));
    let group = group("offset-fetch-all");
    for (topic, index, offset) in [(&a, 0, 1), (&a, 1, 2), (&b, 0, 3)] {
        assert_eq!(commit_simple(&group, topic, index, offset), NONE);
    }
    for version in 2..=9 {
        let (error, entries) = fetch(version, &group, None);
        let expected = vec![entry(&a, 0, 1), entry(&a, 1, 2), entry(&b, 0, 3)];
        assert_eq!((error, entries), (NONE, expected), "v{version}");
        let (error, entries) = fetch(version, &unique("no-group"), None);
        assert_eq!((error, entries), (NONE, vec![]), "v{version}");
        assert_eq!(fetch(version, &group, Some(&[])), (NONE, vec![]), "v{version}: an empty list");
    }
}

#[test]
fn several_groups() {
    let topic = topic("offset-fetch-groups", 1);
    let (a, b) = (group("offset-fetch-a"), group("offset-fetch-b"));
    assert_eq!(commit_simple(&a, &topic, 0, 1), NONE);
    assert_eq!(commit_simple(&b, &topic, 0, 2), NONE);
    for version in [8, 9] {
        let wanted: [(&Topic, &[i32]); 1] = [(&topic, &[0])];
        let request = OffsetFetchRequest::default().with_groups(vec![
            batched(&b, Some(&wanted)),
            batched(&a, None),
            batched("", None),
        ]);
        let response = call(version, &request);
        let offset = |name: &str| {
            let group = response.groups.iter().find(|it| &**it.group_id == name).unwrap();
            let offset = group.topics.first().map(|it| it.partitions[0].committed_offset);
            (group.error_code, offset)
        };
        assert_eq!(response.groups.len(), 3, "v{version}");
        assert_eq!(offset(&a), (NONE, Some(1)), "v{version}");
        assert_eq!(offset(&b), (NONE, Some(2)), "v{version}");
        assert_eq!(offset(""), (NONE, None), "v{version}");
    }
}

/// There are no open transactions: what is stable is what is committed.
#[test]
fn require_stable() {
    let topic = topic("offset-fetch-stable", 1);
    let group = group("offset-fetch-stable");
    assert_eq!(commit_simple(&group, &topic, 0, 9), NONE);
    let wanted: [(&Topic, &[i32]); 1] = [(&topic, &[0])];
    let request = OffsetFetchRequest::default()
        .with_groups(vec![batched(&group, Some(&wanted))])
        .with_require_stable(true);
    let response = call(8, &request);
    let partition = &response.groups[0].topics[0].partitions[0];
    assert_eq!((partition.error_code, partition.committed_offset), (NONE, 9));
}

/// No error: a group nobody has committed to.
#[test]
fn an_empty_group_id() {
    let topic = topic("offset-fetch-empty", 1);
    for version in 1..=9 {
        let (error, entries) = fetch(version, "", Some(&[(&topic, &[0])]));
        assert_eq!((error, entries), (NONE, vec![entry(&topic, 0, -1)]), "v{version}");
    }
}
