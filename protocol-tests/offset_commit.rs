//! OffsetCommit: v2-9.

use kafka_protocol::messages::OffsetCommitRequest;
use kafka_protocol::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};

use crate::client::{call, text};
use crate::codes::{
    GROUP_ID_NOT_FOUND, ILLEGAL_GENERATION, NONE, OFFSET_METADATA_TOO_LARGE, REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID, UNKNOWN_TOPIC_OR_PARTITION,
};
use crate::fixtures::{Topic, group, topic, topic_name, unique};
use crate::members::{JOIN, Member, group_id, two_joined};
use crate::offset_fetch::committed;
use uuid::Uuid;

fn partition(index: i32, offset: i64) -> OffsetCommitRequestPartition {
    OffsetCommitRequestPartition::default()
        .with_partition_index(index)
        .with_committed_offset(offset)
        .with_committed_metadata(Some(text("")))
}

fn request(
    group: &str,
    topic: &Topic,
    partitions: Vec<OffsetCommitRequestPartition>,
) -> OffsetCommitRequest {
    let topic = OffsetCommitRequestTopic::default()
        .with_name(topic_name(&topic.name))
        .with_partitions(partitions);
    OffsetCommitRequest::default().with_group_id(group_id(group)).with_topics(vec![topic])
}

fn codes(version: i16, request: &OffsetCommitRequest) -> Vec<i16> {
    let response = call(version, request);
    let partitions = response.topics.iter().flat_map(|topic| &topic.partitions);
    partitions.map(|it| it.error_code).collect()
}

/// As a consumer that assigns its partitions itself; gives the error.
pub fn commit_simple(group: &str, topic: &Topic, index: i32, offset: i64) -> i16 {
    codes(8, &request(group, topic, vec![partition(index, offset)]))[0]
}

fn by_member(member: &Member, topic: &Topic, offset: i64) -> OffsetCommitRequest {
    request(&member.group, topic, vec![partition(0, offset)])
        .with_generation_id_or_member_epoch(member.generation)
        .with_member_id(text(&member.id))
}

#[test]
fn every_version_commits() {
    let topic = topic("commit", 1);
    let group = group("commit");
    let member = Member::alone(&group, b"1");
    for version in 2..=9 {
        let offset = i64::from(version) * 10;
        let mut entry = partition(0, offset).with_committed_metadata(Some(text("note")));
        if version >= 6 {
            entry = entry.with_committed_leader_epoch(5);
        }
        let mut wanted = by_member(&member, &topic, 0);
        wanted.topics[0].partitions = vec![entry];
        let response = call(version, &wanted);
        assert_eq!(&**response.topics[0].name, topic.name, "v{version}");
        let answer = &response.topics[0].partitions[0];
        assert_eq!((answer.partition_index, answer.error_code), (0, NONE), "v{version}");
        let epoch = if version < 6 { -1 } else { 5 };
        assert_eq!(committed(&group, &topic, 0), (offset, epoch, "note".to_owned()), "v{version}");
    }
}

/// Without a member: taken as long as the group has no members.
#[test]
fn without_a_member() {
    let topic = topic("commit-simple", 1);
    for version in 2..=9 {
        let group = group("commit-simple");
        let wanted = request(&group, &topic, vec![partition(0, 7)]);
        assert_eq!(codes(version, &wanted), [NONE], "v{version}: the group is made");
        assert_eq!(codes(version, &wanted), [NONE], "v{version}");
        let mut member = Member::alone(&group, b"1");
        assert_eq!(codes(version, &wanted), [UNKNOWN_MEMBER_ID], "v{version}: it has a member");
        member.leave();
        assert_eq!(codes(version, &wanted), [NONE], "v{version}: empty again");
    }
}

#[test]
fn requests_that_are_refused() {
    let topic = topic("commit-refused", 1);
    let group = group("commit-refused");
    let member = Member::alone(&group, b"1");
    for version in 2..=9 {
        let good = by_member(&member, &topic, 1);
        let nowhere = request(&unique("commit-x"), &topic, vec![partition(0, 1)])
            .with_generation_id_or_member_epoch(1)
            .with_member_id(text("x"));
        let unknown_group = if version < 9 { ILLEGAL_GENERATION } else { GROUP_ID_NOT_FOUND };
        let cases = [
            ("good", good.clone(), NONE),
            ("old", good.clone().with_generation_id_or_member_epoch(0), ILLEGAL_GENERATION),
            ("coming", good.clone().with_generation_id_or_member_epoch(2), ILLEGAL_GENERATION),
            ("another", good.clone().with_member_id(text("x")), UNKNOWN_MEMBER_ID),
            ("unknown group", nowhere, unknown_group),
            ("no group", good.with_group_id(group_id("")), unknown_group),
        ];
        for (what, wanted, expected) in cases {
            assert_eq!(codes(version, &wanted), [expected], "v{version} {what}");
        }
    }
}

/// Before the rebalance is over the old owner may still commit; once the new generation is there it must sync first.
#[test]
fn during_a_rebalance() {
    let topic = topic("commit-rebalance", 1);
    let group = group("commit-rebalance");
    let mut first = Member::alone(&group, b"1");
    let mut second = Member::new(&group);
    let wanted = second.join_request();
    let waiting = second.client.send(JOIN, &wanted);
    first.until_rebalance();
    assert_eq!(codes(7, &by_member(&first, &topic, 5)), [NONE], "preparing");
    first.join();
    let response =
        second.client.receive::<kafka_protocol::messages::JoinGroupRequest>(JOIN, waiting);
    second.joined(response);
    assert_eq!(codes(7, &by_member(&first, &topic, 6)), [REBALANCE_IN_PROGRESS], "completing");
    assert_eq!(committed(&group, &topic, 0).0, 5);
}

/// A commit is a sign of life in the new generation, too.
#[test]
fn of_a_completing_group_by_its_followers() {
    let topic = topic("commit-follower", 1);
    let (leader, follower) = two_joined(&group("commit-follower"));
    for member in [&leader, &follower] {
        assert_eq!(codes(7, &by_member(member, &topic, 6)), [REBALANCE_IN_PROGRESS]);
    }
}

/// Offsets are not compared with the log.
#[test]
fn any_offset_is_taken() {
    let topic = topic("commit-any", 1);
    let group = group("commit-any");
    for offset in [0, 1_000_000, i64::MAX, -1, -5] {
        assert_eq!(commit_simple(&group, &topic, 0, offset), NONE, "{offset}");
        assert_eq!(committed(&group, &topic, 0).0, offset);
    }
}

#[test]
fn metadata() {
    let topic = topic("commit-metadata", 1);
    let group = group("commit-metadata");
    let with = |metadata: Option<String>| {
        let entry = partition(0, 3).with_committed_metadata(metadata.as_deref().map(text));
        codes(8, &request(&group, &topic, vec![entry]))[0]
    };
    assert_eq!(with(Some("x".repeat(4096))), NONE);
    assert_eq!(committed(&group, &topic, 0).2.len(), 4096);
    assert_eq!(with(Some("x".repeat(4097))), OFFSET_METADATA_TOO_LARGE);
    assert_eq!(committed(&group, &topic, 0).2.len(), 4096, "nothing changed");
    assert_eq!(with(None), NONE);
    assert_eq!(committed(&group, &topic, 0).2, "");
}

/// Each partition has its own answer; only topics that exist are taken.
#[test]
fn several_topics_and_partitions() {
    let known = topic("commit-several", 2);
    let unknown = Topic { name: unique("commit-unknown"), id: Uuid::nil() };
    let group = group("commit-several");
    let mut wanted =
        request(&group, &known, vec![partition(1, 10), partition(2, 20), partition(0, 30)]);
    let other = request(&group, &unknown, vec![partition(0, 40)]).topics.remove(0);
    wanted.topics.push(other);
    for version in [2, 8, 9] {
        let response = call(version, &wanted);
        let mut answered: Vec<_> = response
            .topics
            .iter()
            .flat_map(|t| {
                t.partitions
                    .iter()
                    .map(|it| (t.name.to_string(), it.partition_index, it.error_code))
            })
            .collect();
        answered.sort();
        let mut expected = vec![
            (known.name.clone(), 0, NONE),
            (known.name.clone(), 1, NONE),
            (known.name.clone(), 2, UNKNOWN_TOPIC_OR_PARTITION),
            (unknown.name.clone(), 0, UNKNOWN_TOPIC_OR_PARTITION),
        ];
        expected.sort();
        assert_eq!(answered, expected, "v{version}");
        assert_eq!(committed(&group, &known, 0).0, 30);
        assert_eq!(committed(&group, &known, 1).0, 10);
    }
    let nothing = OffsetCommitRequest::default().with_group_id(group_id(&group));
    assert!(call(8, &nothing).topics.is_empty());
}
