//! OffsetFetch: v1-9.

use kafka_protocol::messages::OffsetFetchRequest;
use kafka_protocol::messages::offset_fetch_request::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics,
};

use super::offset_commit;
use super::{Case, case, check};
use crate::client::{call, text};
use crate::fixtures::topic_name;
use crate::members::group_id;

type Wanted<'a> = Option<&'a [(&'a str, &'a [i32])]>;

/// In the version's fields for one group.
fn of(version: i16, group: &str, wanted: Wanted) -> OffsetFetchRequest {
    if version >= 8 {
        return OffsetFetchRequest::default().with_groups(vec![group_of(group, wanted)]);
    }
    let topic = |(name, indexes): &(&str, &[i32])| {
        OffsetFetchRequestTopic::default()
            .with_name(topic_name(name))
            .with_partition_indexes(indexes.to_vec())
    };
    let topics = wanted.map(|topics| topics.iter().map(topic).collect());
    OffsetFetchRequest::default().with_group_id(group_id(group)).with_topics(topics)
}

fn group_of(group: &str, wanted: Wanted) -> OffsetFetchRequestGroup {
    let topic = |(name, indexes): &(&str, &[i32])| {
        OffsetFetchRequestTopics::default()
            .with_name(topic_name(name))
            .with_partition_indexes(indexes.to_vec())
    };
    let topics = wanted.map(|topics| topics.iter().map(topic).collect());
    OffsetFetchRequestGroup::default().with_group_id(group_id(group)).with_topics(topics)
}

fn commit(group: &str, topic: &str, offset: i64) {
    call(8, &offset_commit::one(group, topic, offset));
}

const CASES: &[Case] = &[
    case("a commit, and none", 1..=9, |t| {
        let (topic, group) = (t.topic(2), t.group());
        commit(&group, &topic.name, 5);
        t.ask(&of(t.version, &group, Some(&[(&topic.name, &[0, 1])])));
    }),
    case("all commits: no list, from v2 on", 2..=9, |t| {
        let (one, other, group) = (t.topic(1), t.topic(1), t.group());
        commit(&group, &one.name, 5);
        commit(&group, &other.name, 6);
        let request = of(t.version, &group, None);
        t.sorted(&["topics"]).ask(&request);
    }),
    case("an empty list", 1..=9, |t| {
        let (topic, group) = (t.topic(1), t.group());
        commit(&group, &topic.name, 5);
        t.ask(&of(t.version, &group, Some(&[])));
    }),
    case("an unknown group", 1..=9, |t| {
        let (topic, group) = (t.topic(1), t.group());
        t.ask(&of(t.version, &group, Some(&[(&topic.name, &[0])])));
    }),
    case("all commits of an unknown group", 2..=9, |t| {
        let group = t.group();
        t.ask(&of(t.version, &group, None));
    }),
    case("unknown topics and partitions", 1..=9, |t| {
        let (topic, unknown, group) = (t.topic(1), t.name("topic"), t.group());
        let wanted: [(&str, &[i32]); 3] =
            [(&topic.name, &[7, -1]), (&unknown, &[0]), ("a b", &[0])];
        t.ask(&of(t.version, &group, Some(&wanted)));
    }),
    case("no group id", 1..=9, |t| {
        let topic = t.topic(1);
        t.ask(&of(t.version, "", Some(&[(&topic.name, &[0])])));
    }),
    case("stable offsets only", 7..=9, |t| {
        let (topic, group) = (t.topic(1), t.group());
        commit(&group, &topic.name, 5);
        let request = of(t.version, &group, Some(&[(&topic.name, &[0])]));
        t.ask(&request.with_require_stable(true));
    }),
    case("two groups, and none", 8..=9, |t| {
        let (topic, one, other) = (t.topic(1), t.group(), t.group());
        commit(&one, &topic.name, 5);
        let wanted: Wanted = Some(&[(&topic.name, &[0])]);
        let groups = vec![group_of(&one, wanted), group_of(&other, wanted)];
        t.sorted(&["groups"]).ask(&OffsetFetchRequest::default().with_groups(groups));
        t.ask(&OffsetFetchRequest::default());
    }),
    case("a member's epoch in a group of the classic kind", 9..=9, |t| {
        let (topic, group) = (t.topic(1), t.group());
        let member = t.member(&group);
        for (id, epoch) in [(&*member.id, 1), ("x", 1), (&member.id, 7)] {
            let wanted = group_of(&group, Some(&[(&topic.name, &[0])]))
                .with_member_id(Some(text(id)))
                .with_member_epoch(epoch);
            t.ask(&OffsetFetchRequest::default().with_groups(vec![wanted]));
        }
    }),
];

#[test]
fn offset_fetch() {
    check("offset_fetch", 9, CASES);
}
