//! OffsetDelete: v0.

use kafka_protocol::messages::OffsetDeleteRequest;
use kafka_protocol::messages::offset_delete_request::{
    OffsetDeleteRequestPartition, OffsetDeleteRequestTopic,
};

use crate::client::call;
use crate::codes::{
    GROUP_ID_NOT_FOUND, GROUP_SUBSCRIBED_TO_TOPIC, INVALID_GROUP_ID, NONE,
    UNKNOWN_TOPIC_OR_PARTITION,
};
use crate::fixtures::{Topic, group, topic, topic_name, unique};
use crate::members::{Member, group_id, subscription};
use crate::offset_commit::commit_simple;
use crate::offset_fetch::committed;
use uuid::Uuid;

/// (top-level error, errors of partitions)
fn delete(group: &str, topic: &Topic, indexes: &[i32]) -> (i16, Vec<i16>) {
    let partitions = indexes
        .iter()
        .map(|index| OffsetDeleteRequestPartition::default().with_partition_index(*index))
        .collect();
    let topic = OffsetDeleteRequestTopic::default()
        .with_name(topic_name(&topic.name))
        .with_partitions(partitions);
    let request =
        OffsetDeleteRequest::default().with_group_id(group_id(group)).with_topics(vec![topic]);
    let response = call(0, &request);
    let partitions = response.topics.iter().flat_map(|topic| &topic.partitions);
    (response.error_code, partitions.map(|it| it.error_code).collect())
}

#[test]
fn deletes_what_is_named() {
    let topic = topic("offset-delete", 3);
    let group = group("offset-delete");
    for index in 0..3 {
        assert_eq!(commit_simple(&group, &topic, index, 7), NONE);
    }
    assert_eq!(delete(&group, &topic, &[0, 2]), (NONE, vec![NONE, NONE]));
    let left: Vec<_> = (0..3).map(|index| committed(&group, &topic, index).0).collect();
    assert_eq!(left, [-1, 7, -1]);
    assert_eq!(delete(&group, &topic, &[0]), (NONE, vec![NONE]), "nothing there is fine too");
}

#[test]
fn unknown_groups_and_topics() {
    let known = topic("offset-delete-known", 1);
    let unknown = Topic { name: unique("offset-delete-unknown"), id: Uuid::nil() };
    let group = group("offset-delete-unknowns");
    assert_eq!(commit_simple(&group, &known, 0, 7), NONE);
    assert_eq!(delete(&unique("no-group"), &known, &[0]), (GROUP_ID_NOT_FOUND, vec![]));
    assert_eq!(delete("", &known, &[0]), (INVALID_GROUP_ID, vec![]));
    assert_eq!(delete(&group, &unknown, &[0]), (NONE, vec![UNKNOWN_TOPIC_OR_PARTITION]));
    assert_eq!(delete(&group, &known, &[5]), (NONE, vec![UNKNOWN_TOPIC_OR_PARTITION]));
}

/// What a living member reads is not taken from under it.
#[test]
fn a_topic_the_group_reads() {
    let (read, other) = (topic("offset-delete-read", 1), topic("offset-delete-other", 1));
    let group = group("offset-delete-read");
    for topic in [&read, &other] {
        assert_eq!(commit_simple(&group, topic, 0, 7), NONE);
    }
    let mut member = Member::new(&group);
    let mut request = member.join_request();
    request.protocols[0].metadata = subscription(&[&read.name]);
    let response = member.client.call(crate::members::JOIN, &request);
    member.joined(response);
    member.sync(&[b"1"]);
    assert_eq!(delete(&group, &read, &[0]), (NONE, vec![GROUP_SUBSCRIBED_TO_TOPIC]));
    assert_eq!(delete(&group, &other, &[0]), (NONE, vec![NONE]));
    assert_eq!((committed(&group, &read, 0).0, committed(&group, &other, 0).0), (7, -1));
}
