//! OffsetCommit: v2-9. Not here: no group id, which makes a group that others believe is not there.

use kafka_protocol::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use kafka_protocol::messages::{OffsetCommitRequest, OffsetFetchRequest};

use super::{Case, Run, case, check};
use crate::client::text;
use crate::fixtures::topic_name;
use crate::members::{Member, group_id, two_joined};

fn partition(index: i32, offset: i64) -> OffsetCommitRequestPartition {
    OffsetCommitRequestPartition::default()
        .with_partition_index(index)
        .with_committed_offset(offset)
        .with_committed_metadata(Some(text("")))
}

/// As a consumer that assigns its partitions itself.
pub fn simple(
    group: &str,
    topic: &str,
    partitions: Vec<OffsetCommitRequestPartition>,
) -> OffsetCommitRequest {
    let topic = OffsetCommitRequestTopic::default()
        .with_name(topic_name(topic))
        .with_partitions(partitions);
    OffsetCommitRequest::default().with_group_id(group_id(group)).with_topics(vec![topic])
}

pub fn one(group: &str, topic: &str, offset: i64) -> OffsetCommitRequest {
    simple(group, topic, vec![partition(0, offset)])
}

fn by(member: &Member, topic: &str) -> OffsetCommitRequest {
    one(&member.group, topic, 7)
        .with_generation_id_or_member_epoch(member.generation)
        .with_member_id(text(&member.id))
}

/// Everything the group has committed.
fn committed(t: &mut Run, group: &str) {
    let all = OffsetFetchRequest::default().with_group_id(group_id(group)).with_topics(None);
    t.ask_at(7, &all);
}

const CASES: &[Case] = &[
    case("without members", 2..=9, |t| {
        let (topic, group) = (t.topic(2), t.group());
        let noted = partition(1, 5).with_committed_metadata(Some(text("a note")));
        t.ask(&simple(&group, &topic.name, vec![partition(0, 3), noted]));
        committed(t, &group);
    }),
    case("a leader epoch", 6..=9, |t| {
        let (topic, group) = (t.topic(1), t.group());
        let partition = partition(0, 3).with_committed_leader_epoch(2);
        t.ask(&simple(&group, &topic.name, vec![partition]));
        committed(t, &group);
    }),
    case("null metadata", 2..=9, |t| {
        let (topic, group) = (t.topic(1), t.group());
        let partition = partition(0, 3).with_committed_metadata(None);
        t.ask(&simple(&group, &topic.name, vec![partition]));
        committed(t, &group);
    }),
    case("offsets beyond the end and below zero", 2..=9, |t| {
        let (topic, group) = (t.topic(1), t.group());
        for offset in [i64::MAX, -1] {
            t.ask(&one(&group, &topic.name, offset));
            committed(t, &group);
        }
    }),
    case("metadata too large", 2..=9, |t| {
        let (topic, group) = (t.topic(2), t.group());
        let large = partition(0, 3).with_committed_metadata(Some(text(&"x".repeat(4097))));
        t.ask(&simple(&group, &topic.name, vec![large, partition(1, 3)]));
    }),
    case("unknown topics and partitions", 2..=9, |t| {
        let (topic, unknown, group) = (t.topic(1), t.name("topic"), t.group());
        let partitions = vec![partition(0, 3), partition(7, 3)];
        t.sorted(&["partitions"]).ask(&simple(&group, &topic.name, partitions));
        t.ask(&one(&group, &unknown, 3));
        t.ask(&one(&group, "a b", 3));
    }),
    case("no topics", 2..=9, |t| {
        let group = t.group();
        t.ask(&OffsetCommitRequest::default().with_group_id(group_id(&group)));
    }),
    case("a member's generation", 2..=9, |t| {
        let (topic, group) = (t.topic(1), t.group());
        let member = t.member(&group);
        t.note("its own").ask(&by(&member, &topic.name));
        for generation in [0, 2, -1] {
            let request = by(&member, &topic.name).with_generation_id_or_member_epoch(generation);
            t.note(&format!("generation {generation}")).ask(&request);
        }
        t.note("another member").ask(&by(&member, &topic.name).with_member_id(text("x")));
        t.note("no member").ask(&one(&group, &topic.name, 3));
    }),
    case("a generation of an unknown group", 2..=9, |t| {
        let (topic, group) = (t.topic(1), t.group());
        let request = one(&group, &topic.name, 3).with_generation_id_or_member_epoch(1);
        t.ask(&request.with_member_id(text("x")));
    }),
    case("an unknown instance", 7..=9, |t| {
        let (topic, group) = (t.topic(1), t.group());
        let member = t.member(&group);
        t.ask(&by(&member, &topic.name).with_group_instance_id(Some(text("i"))));
    }),
    case("while the members wait for their assignment", 2..=9, |t| {
        let (topic, group) = (t.topic(1), t.group());
        let (first, _second) = two_joined(&group);
        let first = t.known(first);
        t.ask(&by(&first, &topic.name));
    }),
    case("while a rebalance begins", 2..=9, |t| {
        let (topic, group) = (t.topic(1), t.group());
        let mut first = t.member(&group);
        let mut second = Member::new(&group);
        let join = second.join_request();
        second.client.send(crate::members::JOIN, &join);
        first.until_rebalance();
        t.ask(&by(&first, &topic.name));
        committed(t, &group);
    }),
    case("a retention of its own, up to v4", 2..=4, |t| {
        let (topic, group) = (t.topic(1), t.group());
        for retention in [1_000_000, 0, -1] {
            t.ask(&one(&group, &topic.name, 3).with_retention_time_ms(retention));
        }
        committed(t, &group);
    }),
    case("a partition twice", 2..=9, |t| {
        let (topic, group) = (t.topic(1), t.group());
        t.ask(&simple(&group, &topic.name, vec![partition(0, 3), partition(0, 4)]));
        committed(t, &group);
    }),
];

#[test]
fn offset_commit() {
    check("offset_commit", 8, CASES);
}
