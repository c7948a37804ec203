//! KIP-345. What a static member's restart shows was seen on Kafka 4.1.1, client id and host of the old one included.

use super::*;

fn static_member(number: u128, member_id: &str, can_skip_assignment: bool) -> Command {
    Command::Join(JoinGroup {
        instance_id: Some("i".into()),
        can_skip_assignment,
        uuid: Uuid::from_u128(number),
        ..join(member_id)
    })
}

fn static_id(number: u128) -> String {
    format!("i-{}", Uuid::from_u128(number))
}

fn static_sync(number: u128, generation: i32, assignments: Vec<(String, Bytes)>) -> Command {
    Command::Sync(SyncGroup {
        group: "g".into(),
        member_id: static_id(number),
        instance_id: Some("i".into()),
        generation,
        protocol_type: None,
        protocol: None,
        assignments,
    })
}

fn static_heartbeat(number: u128, instance_id: Option<&str>) -> Command {
    Command::Heartbeat(Heartbeat {
        group: "g".into(),
        member_id: static_id(number),
        instance_id: instance_id.map(str::to_owned),
        generation: 1,
    })
}

/// One static member, stable in generation 1.
fn stable() -> Script<GroupMachine> {
    let mut script = script(settings());
    script.send(static_member(1, "", true)).sleep_to(0);
    script.send(static_sync(1, 1, vec![(static_id(1), "A".into())])).unchecked();
    script
}

#[test]
fn a_restart_of_the_leader_does_not_disturb_a_stable_group() {
    let mut script = stable();
    script
        .send(static_member(2, "", true))
        .send(static_heartbeat(1, Some("i")))
        .send(static_heartbeat(1, None))
        .send(static_heartbeat(2, Some("i")))
        .send(static_heartbeat(2, Some("j")))
        .send(static_member(0, &static_id(1), true))
        .send(describe())
        .shows(expect![[r#"
            @0 #3 Join g -/i range=b"r"
                write Group g generation 1 "consumer" "range" leader i-2 i-2=b"A"
                reply #3 Joined i-2 generation 1 "range" leader i-2 skip_assignment i-2=b"r"
            @0 #4 Heartbeat g i-1/i generation 1
                reply #4 FencedInstanceId
            @0 #5 Heartbeat g i-1 generation 1
                reply #5 UnknownMemberId
            @0 #6 Heartbeat g i-2/i generation 1
                reply #6 Ok
            @0 #7 Heartbeat g i-2/j generation 1
                reply #7 UnknownMemberId
            @0 #8 Join g i-1/i range=b"r"
                reply #8 FencedInstanceId i-1
            @0 #9 Describe ["g"]
                reply #9 Described (g Stable "consumer" "range" i-2=b"r"/b"A")
        "#]]);
    // Below v9 it is told the old leader, so that it does not assign.
    script.send(static_member(3, "", false)).send(static_sync(3, 1, Vec::new()));
    script.shows(expect![[r#"
        @0 #10 Join g -/i range=b"r"
            write Group g generation 1 "consumer" "range" leader i-3 i-3=b"A"
            reply #10 Joined i-3 generation 1 "range" leader i-2
        @0 #11 Sync g i-3/i generation 1
            reply #11 Synced b"A"
    "#]]);
}

#[test]
fn another_protocol_makes_a_stable_group_rebalance() {
    let mut script = stable();
    let protocols = vec![protocol("sticky", "s"), protocol("range", "r")];
    let uuid = Uuid::from_u128(2);
    let both = JoinGroup { instance_id: Some("i".into()), protocols, uuid, ..join("") };
    script.send(Command::Join(both)).shows(expect![[r#"
        @0 #3 Join g -/i sticky=b"s" range=b"r"
            reply #3 Joined i-2 generation 2 "sticky" leader i-2 i-2=b"s"
    "#]]);
}

#[test]
fn a_restart_while_members_sync_makes_the_group_rebalance() {
    let mut script = stable();
    script.send(new_member(9)).send(static_member(0, &static_id(1), true)).unchecked();
    script.send(sync(9, 2, &[])).send(static_member(2, "", true)).shows(expect![[r#"
        @0 #5 Sync g c-9 generation 2
        @0 #6 Join g -/i range=b"r"
            reply #5 RebalanceInProgress
    "#]]);
}

#[test]
fn a_restart_while_members_join_takes_the_waiting_place() {
    let mut script = stable();
    script.send(new_member(9)).send(static_member(0, &static_id(1), true)).unchecked();
    script.send(new_member(8)).send(static_member(0, &static_id(1), true));
    script.send(static_member(2, "", true)).send(rejoin(9)).shows(expect![[r#"
        @0 #5 Join g - range=b"r"
        @0 #6 Join g i-1/i range=b"r"
        @0 #7 Join g -/i range=b"r"
            reply #6 FencedInstanceId i-1
        @0 #8 Join g c-9 range=b"r"
            reply #5 Joined c-8 generation 3 "range" leader i-2
            reply #8 Joined c-9 generation 3 "range" leader i-2
            reply #7 Joined i-2 generation 3 "range" leader i-2 c-8=b"r" c-9=b"r" i-2=b"r"
    "#]]);
}

#[test]
fn a_static_member_keeps_its_place_until_its_session_ends() {
    let mut script = script(settings());
    let slow = JoinGroup {
        instance_id: Some("i".into()),
        session_timeout_ms: 60_000,
        uuid: Uuid::from_u128(1),
        ..join("")
    };
    script.send(Command::Join(slow)).sleep_to(0).send(static_sync(1, 1, Vec::new())).unchecked();
    script.send(new_member(9)).sleep_to(10_000).send(describe()).shows(expect![[r#"
        @0 #3 Join g - range=b"r"
        @10000 tick
            reply #3 Joined c-9 generation 2 "range" leader c-9 c-9=b"r" i-1=b"r"
        @10000 #4 Describe ["g"]
            reply #4 Described (g CompletingRebalance "consumer" "" c-9=b""/b"" i-1=b""/b"")
    "#]]);
}

#[test]
fn an_admin_removes_by_instance_id() {
    let leaving = |member_id: &str, instance_id: &str| LeavingMember {
        member_id: member_id.into(),
        instance_id: Some(instance_id.into()),
    };
    let members = vec![leaving("x", "i"), leaving("", "j"), leaving("", "i"), leaving("", "i")];
    stable().send(Command::Leave { group: "g".into(), members }).shows(expect![[r#"
        @0 #3 Leave g x/i -/j -/i -/i
            write Group g generation 2 "consumer"
            reply #3 Left x/i:FencedInstanceId -/j:UnknownMemberId -/i -/i:UnknownMemberId
    "#]]);
}

#[test]
fn a_restart_that_does_not_fit_is_refused_and_changes_nothing() {
    let mut script = script(Settings { message_max_bytes: 500, ..settings() });
    script.send(static_member(1, "", true)).sleep_to(0);
    script.send(static_sync(1, 1, vec![(static_id(1), "A".into())])).unchecked();
    let large = JoinGroup {
        instance_id: Some("i".into()),
        protocols: vec![protocol("range", &"x".repeat(300))],
        uuid: Uuid::from_u128(2),
        ..join("")
    };
    script.send(Command::Join(large)).unchecked();
    script.send(static_heartbeat(1, Some("i"))).send(describe()).shows(expect![[r#"
        @0 #4 Heartbeat g i-1/i generation 1
            reply #4 Ok
        @0 #5 Describe ["g"]
            reply #5 Described (g Stable "consumer" "range" i-1=b"r"/b"A")
    "#]]);
}
