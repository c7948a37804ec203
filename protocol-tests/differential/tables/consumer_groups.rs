//! ConsumerGroupHeartbeat and ConsumerGroupDescribe: v0-1 (KIP-848). Not here: assignments that come later.

use kafka_protocol::messages::consumer_group_heartbeat_request::TopicPartitions;
use kafka_protocol::messages::{ConsumerGroupDescribeRequest, ConsumerGroupHeartbeatRequest};

use super::{Case, case, check};
use crate::client::text;
use crate::fixtures::topic_name;
use crate::members::group_id;

/// A member that joins with an id of its own.
fn join(group: &str, topics: &[&str]) -> ConsumerGroupHeartbeatRequest {
    ConsumerGroupHeartbeatRequest::default()
        .with_group_id(group_id(group))
        .with_member_id(text("differential-member"))
        .with_member_epoch(0)
        .with_rebalance_timeout_ms(30_000)
        .with_subscribed_topic_names(Some(topics.iter().map(|it| topic_name(it)).collect()))
        .with_topic_partitions(Some(vec![]))
}

fn beat(group: &str, epoch: i32) -> ConsumerGroupHeartbeatRequest {
    ConsumerGroupHeartbeatRequest::default()
        .with_group_id(group_id(group))
        .with_member_id(text("differential-member"))
        .with_member_epoch(epoch)
        .with_subscribed_topic_names(None)
        .with_topic_partitions(None)
}

const HEARTBEAT: &[Case] = &[
    case("joins, beats, leaves", 0..=1, |t| {
        let (topic, group) = (t.topic(2), t.group());
        t.ask(&join(&group, &[&topic.name]));
        t.ask(&beat(&group, 1));
        t.note("a wrong epoch").ask(&beat(&group, 7));
        t.note("leaves").ask(&beat(&group, -1));
        t.note("is gone").ask(&beat(&group, 1));
    }),
    case("without a member id", 0..=1, |t| {
        let (topic, group) = (t.topic(1), t.group());
        t.ask(&join(&group, &[&topic.name]).with_member_id(text("")));
        t.ask(&beat(&group, 1).with_member_id(text("")));
    }),
    case("a first beat that cannot be", 0..=1, |t| {
        let (topic, group) = (t.topic(1), t.group());
        let good = || join(&group, &[&topic.name]);
        let owned = TopicPartitions::default().with_topic_id(topic.id).with_partitions(vec![0]);
        t.note("owned partitions").ask(&good().with_topic_partitions(Some(vec![owned])));
        t.note("null partitions").ask(&good().with_topic_partitions(None));
        t.note("no rebalance timeout").ask(&good().with_rebalance_timeout_ms(-1));
        t.note("no topics").ask(&good().with_subscribed_topic_names(None));
        t.note("no group").ask(&good().with_group_id(group_id("")));
        t.note("no instance").ask(&good().with_instance_id(Some(text(""))));
        t.note("no rack").ask(&good().with_rack_id(Some(text(""))));
        t.note("no assignor").ask(&good().with_server_assignor(Some(text("x"))));
        t.note("an epoch below -2").ask(&good().with_member_epoch(-3));
    }),
    case("an unknown group", 0..=1, |t| {
        let group = t.group();
        t.ask(&beat(&group, 1));
        t.ask(&beat(&group, -1));
    }),
    case("a group of the classic kind that has members", 0..=1, |t| {
        let (topic, group) = (t.topic(1), t.group());
        let _member = t.member(&group);
        t.ask(&join(&group, &[&topic.name]));
    }),
];

const DESCRIBE: &[Case] = &[case("unknown groups, no group id, a classic one, none", 0..=1, |t| {
    let (unknown, classic) = (t.group(), t.group());
    let _member = t.member(&classic);
    for groups in [&[&*unknown][..], &[""], &[&classic], &[]] {
        let ids = groups.iter().map(|it| group_id(it)).collect();
        t.ask(&ConsumerGroupDescribeRequest::default().with_group_ids(ids));
    }
})];

#[test]
fn consumer_group_heartbeat() {
    check("consumer_group_heartbeat", 68, HEARTBEAT);
}

#[test]
fn consumer_group_describe() {
    check("consumer_group_describe", 69, DESCRIBE);
}
