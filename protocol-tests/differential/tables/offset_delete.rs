//! OffsetDelete: v0.

use kafka_protocol::messages::offset_delete_request::{
    OffsetDeleteRequestPartition, OffsetDeleteRequestTopic,
};
use kafka_protocol::messages::{JoinGroupRequest, OffsetDeleteRequest};

use super::offset_commit;
use super::{Case, case, check};
use crate::client::call;
use crate::fixtures::topic_name;
use crate::members::{JOIN, Member, group_id, subscription};

fn of(group: &str, topics: &[(&str, &[i32])]) -> OffsetDeleteRequest {
    let partition =
        |index: &i32| OffsetDeleteRequestPartition::default().with_partition_index(*index);
    let topic = |(name, indexes): &(&str, &[i32])| {
        OffsetDeleteRequestTopic::default()
            .with_name(topic_name(name))
            .with_partitions(indexes.iter().map(partition).collect())
    };
    OffsetDeleteRequest::default()
        .with_group_id(group_id(group))
        .with_topics(topics.iter().map(topic).collect())
}

const CASES: &[Case] = &[
    case("a commit, and once more", 0..=0, |t| {
        let (topic, group) = (t.topic(2), t.group());
        call(8, &offset_commit::one(&group, &topic.name, 3));
        t.ask(&of(&group, &[(&topic.name, &[0, 1])]));
        t.ask(&of(&group, &[(&topic.name, &[0])]));
    }),
    case("unknown groups, topics and partitions", 0..=0, |t| {
        let (topic, unknown, group) = (t.topic(1), t.name("topic"), t.group());
        t.ask(&of(&group, &[(&topic.name, &[0])]));
        call(8, &offset_commit::one(&group, &topic.name, 3));
        t.ask(&of(&group, &[(&topic.name, &[7])]));
        t.ask(&of(&group, &[(&unknown, &[0])]));
        t.ask(&of(&group, &[("a b", &[0])]));
        t.ask(&of("", &[(&topic.name, &[0])]));
        t.ask(&of(&group, &[]));
    }),
    case("a topic that a member reads", 0..=0, |t| {
        let (read, other, group) = (t.topic(1), t.topic(1), t.group());
        for topic in [&read, &other] {
            call(8, &offset_commit::one(&group, &topic.name, 3));
        }
        let mut member = t.known(Member::new(&group));
        let mut request: JoinGroupRequest = member.join_request();
        request.protocols[0].metadata = subscription(&[&read.name]);
        member.generation = member.client.call(JOIN, &request).generation_id;
        member.sync(&[b"mine"]);
        t.ask(&of(&group, &[(&read.name, &[0])]));
        t.ask(&of(&group, &[(&other.name, &[0])]));
    }),
];

#[test]
fn offset_delete() {
    check("offset_delete", 47, CASES);
}
