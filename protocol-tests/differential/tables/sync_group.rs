//! SyncGroup: v0-5.

use kafka_protocol::messages::SyncGroupRequest;

use super::{Case, case, check};
use crate::client::text;
use crate::members::{JOIN, Member, two_joined};

/// With the protocol, from the version on that has it.
fn of(version: i16, member: &Member, assignments: &[(&str, &'static [u8])]) -> SyncGroupRequest {
    let request = member.sync_request(assignments);
    if version < 5 {
        return request;
    }
    request.with_protocol_type(Some(text("consumer"))).with_protocol_name(Some(text("range")))
}

const CASES: &[Case] = &[
    case("the only member, and again when stable", 0..=5, |t| {
        let group = t.group();
        let mut member = t.known(Member::new(&group));
        member.join();
        let id = member.id.clone();
        t.ask(&of(t.version, &member, &[(&id, b"mine")]));
        t.ask(&of(t.version, &member, &[]));
    }),
    case("a leader that assigns nothing", 0..=5, |t| {
        let group = t.group();
        let mut member = t.known(Member::new(&group));
        member.join();
        t.ask(&of(t.version, &member, &[]));
    }),
    case("a follower waits for its leader", 0..=5, |t| {
        let group = t.group();
        let (first, mut second) = two_joined(&group);
        let request = of(t.version, &second, &[]);
        let waiting = second.client.send(t.version, &request);
        let assignments: [(&str, &[u8]); 2] = [(&first.id, b"one"), (&second.id, b"two")];
        t.ask(&of(t.version, &first, &assignments));
        t.show::<SyncGroupRequest>(&second.client.receive::<SyncGroupRequest>(t.version, waiting));
    }),
    case("wrong generations, another member", 0..=5, |t| {
        let v = t.version;
        let group = t.group();
        let member = t.member(&group);
        for generation in [0, 2, -1] {
            t.note(&format!("generation {generation}"));
            t.ask(&of(v, &member, &[]).with_generation_id(generation));
        }
        t.note("another member").ask(&of(v, &member, &[]).with_member_id(text("x")));
        t.note("no member").ask(&of(v, &member, &[]).with_member_id(text("")));
    }),
    case("an unknown group, no group id", 0..=5, |t| {
        let mut member = Member::unknown(&t.group());
        member.id = "x".to_owned();
        t.ask(&of(t.version, &member, &[]));
        member.group.clear();
        t.ask(&of(t.version, &member, &[]));
    }),
    case("another protocol", 5..=5, |t| {
        let group = t.group();
        let member = t.member(&group);
        let request = || of(5, &member, &[]);
        t.ask(&request().with_protocol_type(Some(text("connect"))));
        t.ask(&request().with_protocol_name(Some(text("roundrobin"))));
        t.ask(&request().with_protocol_type(None));
        t.ask(&request().with_protocol_name(None));
        t.ask(&request().with_protocol_type(None).with_protocol_name(None));
    }),
    case("while a rebalance begins", 0..=5, |t| {
        let group = t.group();
        let mut first = t.member(&group);
        let mut second = Member::new(&group);
        let join = second.join_request();
        second.client.send(JOIN, &join);
        first.until_rebalance();
        t.ask(&of(t.version, &first, &[]));
    }),
    case("an unknown instance", 3..=5, |t| {
        let group = t.group();
        let member = t.member(&group);
        t.ask(&of(t.version, &member, &[]).with_group_instance_id(Some(text("i"))));
    }),
];

#[test]
fn sync_group() {
    check("sync_group", 14, CASES);
}
