//! Every cell of the state table, and the ways from one state to the next.

use super::*;

/// Two members in generation 1: `c-1` leads, both have been answered, nobody has synced.
fn completing(settings: Settings) -> Script<GroupMachine> {
    let mut script = script(settings);
    script.send(new_member(1)).sleep_to(0).send(sync(1, 1, &[(1, "all")]));
    script.send(new_member(2)).send(rejoin(1)).unchecked();
    script
}

/// The same, stable in generation 2.
fn stable(settings: Settings) -> Script<GroupMachine> {
    let mut script = completing(settings);
    script.send(sync(2, 2, &[])).send(sync(1, 2, &[(1, "A"), (2, "B")])).unchecked();
    script
}

#[test]
fn dead() {
    let refused = JoinGroup { protocols: Vec::new(), ..join("") };
    script(settings())
        .send(heartbeat(1, 1))
        .send(sync(1, 1, &[]))
        .send(leave("c"))
        .send(commit("c", 1))
        .send(Command::Commit(OffsetCommit {
            knows_group_id_not_found: false,
            ..commit_of("g", "c", 1)
        }))
        .send(Command::Fetch { group: "g".into(), topics: Some(vec![("t".into(), vec![0])]) })
        .send(Command::Fetch { group: "g".into(), topics: None })
        .send(describe())
        .send(Command::Delete { groups: vec!["g".into()] })
        .send(Command::DeleteOffsets { group: "g".into(), topics: vec![("t".into(), vec![0])] })
        .send(rejoin(1))
        .send(Command::Join(refused))
        .send(describe())
        .shows(expect![[r#"
            @0 #1 Heartbeat g c-1 generation 1
                reply #1 UnknownMemberId
            @0 #2 Sync g c-1 generation 1
                reply #2 UnknownMemberId
            @0 #3 Leave g c
                reply #3 UnknownMemberId
            @0 #4 Commit g c generation 1 t-0@5
                reply #4 Offsets t-0:GroupIdNotFound
            @0 #5 Commit g c generation 1 t-0@5
                reply #5 Offsets t-0:IllegalGeneration
            @0 #6 Fetch g [("t", [0])]
                reply #6 Fetched t-0@-1 ""
            @0 #7 Fetch g all
                reply #7 Fetched
            @0 #8 Describe ["g"]
                reply #8 Described (g unknown)
            @0 #9 Delete ["g"]
                reply #9 Deleted g:GroupIdNotFound
            @0 #10 DeleteOffsets g [("t", [0])]
                reply #10 GroupIdNotFound
            @0 #11 Join g c-1 range=b"r"
                reply #11 UnknownMemberId c-1
            @0 #12 Join g -
                write Group g generation 0 ""
                reply #12 InconsistentGroupProtocol -
            @0 #13 Describe ["g"]
                reply #13 Described (g Empty "" "")
        "#]]);
}

#[test]
fn empty() {
    let mut script = script(settings());
    script.send(new_member(1)).sleep_to(0).send(leave(&id(1)));
    script.send(describe()).shows(expect![[r#"
        @0 #1 Join g - range=b"r"
            write Group g generation 0 ""
        @0 tick
            reply #1 Joined c-1 generation 1 "range" leader c-1 c-1=b"r"
        @0 #2 Leave g c-1
            write Group g generation 2 "consumer"
            reply #2 Left c-1
        @0 #3 Describe ["g"]
            reply #3 Described (g Empty "consumer" "")
    "#]]);
    script
        .send(heartbeat(1, 2))
        .send(sync(1, 2, &[]))
        .send(leave(&id(1)))
        .send(rejoin(1))
        .send(commit(&id(1), 2))
        .send(commit(&id(1), -1))
        .send(commit("", -1))
        .send(Command::Join(JoinGroup { protocol_type: String::new(), ..join("") }))
        .shows(expect![[r#"
            @0 #4 Heartbeat g c-1 generation 2
                reply #4 UnknownMemberId
            @0 #5 Sync g c-1 generation 2
                reply #5 UnknownMemberId
            @0 #6 Leave g c-1
                reply #6 Left c-1:UnknownMemberId
            @0 #7 Join g c-1 range=b"r"
                reply #7 UnknownMemberId c-1
            @0 #8 Commit g c-1 generation 2 t-0@5
                reply #8 Offsets t-0:UnknownMemberId
            @0 #9 Commit g c-1 generation -1 t-0@5
                write Offset g t-0 5 epoch -1 "m"
                reply #9 Offsets t-0
            @0 #10 Commit g - generation -1 t-0@5
                write Offset g t-0 5 epoch -1 "m"
                reply #10 Offsets t-0
            @0 #11 Join g - range=b"r"
                reply #11 InconsistentGroupProtocol -
        "#]]);
    script.send(new_member(2)).shows(expect![[r#"
        @0 #12 Join g - range=b"r"
    "#]]);
}

#[test]
fn preparing_rebalance() {
    let mut script = stable(settings());
    script.send(new_member(3)).send(describe()).shows(expect![[r#"
        @0 #7 Join g - range=b"r"
        @0 #8 Describe ["g"]
            reply #8 Described (g PreparingRebalance "consumer" "" c-1=b""/b"A" c-2=b""/b"B" c-3=b""/b"")
    "#]]);
    script
        .send(heartbeat(1, 2))
        .send(heartbeat(1, 1))
        .send(sync(1, 2, &[]))
        .send(commit(&id(1), 2))
        .send(commit("", -1))
        .send(Command::Delete { groups: vec!["g".into()] })
        .send(Command::Join(JoinGroup { protocols: vec![protocol("other", "")], ..join("") }))
        .send(Command::Join(JoinGroup { protocol_type: "other".into(), ..join("") }))
        .shows(expect![[r#"
            @0 #9 Heartbeat g c-1 generation 2
                reply #9 RebalanceInProgress
            @0 #10 Heartbeat g c-1 generation 1
                reply #10 IllegalGeneration
            @0 #11 Sync g c-1 generation 2
                reply #11 RebalanceInProgress
            @0 #12 Commit g c-1 generation 2 t-0@5
                write Offset g t-0 5 epoch -1 "m"
                reply #12 Offsets t-0
            @0 #13 Commit g - generation -1 t-0@5
                reply #13 Offsets t-0:UnknownMemberId
            @0 #14 Delete ["g"]
                reply #14 Deleted g:NonEmptyGroup
            @0 #15 Join g - other=b""
                reply #15 InconsistentGroupProtocol -
            @0 #16 Join g - range=b"r"
                reply #16 InconsistentGroupProtocol -
        "#]]);
    // The same request again takes the place of the first.
    script.send(rejoin(1)).send(rejoin(1)).send(leave(&id(2))).shows(expect![[r#"
        @0 #17 Join g c-1 range=b"r"
        @0 #18 Join g c-1 range=b"r"
            reply #17 RebalanceInProgress c-1
        @0 #19 Leave g c-2
            reply #18 Joined c-1 generation 3 "range" leader c-1 c-1=b"r" c-3=b"r"
            reply #7 Joined c-3 generation 3 "range" leader c-1
            reply #19 Left c-2
    "#]]);
}

#[test]
fn completing_rebalance() {
    let mut script = completing(settings());
    script
        .send(heartbeat(1, 2))
        .send(heartbeat(1, 1))
        .send(commit(&id(1), 2))
        .send(commit(&id(1), 1))
        .send(rejoin(2))
        .send(rejoin(1))
        .send(Command::Delete { groups: vec!["g".into()] })
        .send(describe())
        .shows(expect![[r#"
            @0 #5 Heartbeat g c-1 generation 2
                reply #5 Ok
            @0 #6 Heartbeat g c-1 generation 1
                reply #6 IllegalGeneration
            @0 #7 Commit g c-1 generation 2 t-0@5
                reply #7 Offsets t-0:RebalanceInProgress
            @0 #8 Commit g c-1 generation 1 t-0@5
                reply #8 Offsets t-0:IllegalGeneration
            @0 #9 Join g c-2 range=b"r"
                reply #9 Joined c-2 generation 2 "range" leader c-1
            @0 #10 Join g c-1 range=b"r"
                reply #10 Joined c-1 generation 2 "range" leader c-1 c-1=b"r" c-2=b"r"
            @0 #11 Delete ["g"]
                reply #11 Deleted g:NonEmptyGroup
            @0 #12 Describe ["g"]
                reply #12 Described (g CompletingRebalance "consumer" "" c-1=b""/b"all" c-2=b""/b"")
        "#]]);
    // A follower waits; its repeated request takes the place of the first.
    script.send(sync(2, 2, &[])).send(sync(2, 2, &[])).shows(expect![[r#"
        @0 #13 Sync g c-2 generation 2
        @0 #14 Sync g c-2 generation 2
            reply #13 RebalanceInProgress
    "#]]);
    // It changes its mind: everyone has to join again.
    let changed = JoinGroup { protocols: vec![protocol("range", "new")], ..join(&id(2)) };
    script.send(Command::Join(changed)).send(rejoin(1)).shows(expect![[r#"
        @0 #15 Join g c-2 range=b"new"
            reply #14 RebalanceInProgress
        @0 #16 Join g c-1 range=b"r"
            reply #16 Joined c-1 generation 3 "range" leader c-1 c-1=b"r" c-2=b"new"
            reply #15 Joined c-2 generation 3 "range" leader c-1
    "#]]);
    script.send(sync(2, 3, &[])).send(leave(&id(2))).shows(expect![[r#"
        @0 #17 Sync g c-2 generation 3
        @0 #18 Leave g c-2
            reply #17 UnknownMemberId
            reply #18 Left c-2
    "#]]);
}

#[test]
fn stable_group() {
    let mut script = completing(settings());
    let wrong = |protocol_type: &str, protocol: &str| {
        Command::Sync(SyncGroup {
            group: "g".into(),
            member_id: id(1),
            instance_id: None,
            generation: 2,
            protocol_type: Some(protocol_type.into()),
            protocol: Some(protocol.into()),
            assignments: Vec::new(),
        })
    };
    script
        .send(wrong("consumer", "sticky"))
        .send(wrong("connect", "range"))
        .send(sync(2, 2, &[]))
        .send(sync(1, 2, &[(1, "A"), (2, "B"), (7, "nobody's")]))
        .send(describe())
        .shows(expect![[r#"
            @0 #5 Sync g c-1 generation 2
                reply #5 InconsistentGroupProtocol
            @0 #6 Sync g c-1 generation 2
                reply #6 InconsistentGroupProtocol
            @0 #7 Sync g c-2 generation 2
            @0 #8 Sync g c-1 generation 2 c-1=b"A" c-2=b"B" c-7=b"nobody's"
                write Group g generation 2 "consumer" "range" leader c-1 c-1=b"A" c-2=b"B"
                reply #8 Synced b"A"
                reply #7 Synced b"B"
            @0 #9 Describe ["g"]
                reply #9 Described (g Stable "consumer" "range" c-1=b"r"/b"A" c-2=b"r"/b"B")
        "#]]);
    script
        .send(heartbeat(1, 2))
        .send(heartbeat(1, 3))
        .send(heartbeat(9, 2))
        .send(sync(2, 2, &[]))
        .send(sync(2, 1, &[]))
        .send(commit(&id(2), 2))
        .send(commit(&id(2), 1))
        .send(commit(&id(2), -1))
        .send(commit("", -1))
        .send(commit("", 2))
        .send(rejoin(2))
        .shows(expect![[r#"
            @0 #10 Heartbeat g c-1 generation 2
                reply #10 Ok
            @0 #11 Heartbeat g c-1 generation 3
                reply #11 IllegalGeneration
            @0 #12 Heartbeat g c-9 generation 2
                reply #12 UnknownMemberId
            @0 #13 Sync g c-2 generation 2
                reply #13 Synced b"B"
            @0 #14 Sync g c-2 generation 1
                reply #14 IllegalGeneration
            @0 #15 Commit g c-2 generation 2 t-0@5
                write Offset g t-0 5 epoch -1 "m"
                reply #15 Offsets t-0
            @0 #16 Commit g c-2 generation 1 t-0@5
                reply #16 Offsets t-0:IllegalGeneration
            @0 #17 Commit g c-2 generation -1 t-0@5
                reply #17 Offsets t-0:IllegalGeneration
            @0 #18 Commit g - generation -1 t-0@5
                reply #18 Offsets t-0:UnknownMemberId
            @0 #19 Commit g - generation 2 t-0@5
                reply #19 Offsets t-0:UnknownMemberId
            @0 #20 Join g c-2 range=b"r"
                reply #20 Joined c-2 generation 2 "range" leader c-1
        "#]]);
    // A leader that joins again wants the partitions assigned anew.
    script.send(rejoin(1)).send(rejoin(2)).shows(expect![[r#"
        @0 #21 Join g c-1 range=b"r"
        @0 #22 Join g c-2 range=b"r"
            reply #21 Joined c-1 generation 3 "range" leader c-1 c-1=b"r" c-2=b"r"
            reply #22 Joined c-2 generation 3 "range" leader c-1
    "#]]);
}

#[test]
fn members_that_the_leader_forgets_get_nothing() {
    let mut script = completing(settings());
    script.send(sync(2, 2, &[])).send(sync(1, 2, &[])).shows(expect![[r#"
        @0 #5 Sync g c-2 generation 2
        @0 #6 Sync g c-1 generation 2
            write Group g generation 2 "consumer" "range" leader c-1 c-1=b"" c-2=b""
            reply #6 Synced b""
            reply #5 Synced b""
    "#]]);
}

#[test]
fn a_new_group_waits_for_others_up_to_the_rebalance_timeout() {
    let mut script =
        script(Settings { group_initial_rebalance_delay_ms: 3_000, ..Settings::default() });
    script.send(new_member(1)).sleep_to(2_000).send(new_member(2)).sleep_to(4_000);
    script.send(new_member(3)).sleep_to(7_000).send(new_member(4)).shows(expect![[r#"
        @0 #1 Join g - range=b"r"
            write Group g generation 0 ""
        @2000 #2 Join g - range=b"r"
        @3000 tick
        @4000 #3 Join g - range=b"r"
        @6000 tick
        @7000 #4 Join g - range=b"r"
    "#]]);
    // 3 + 3 + 3 + 1 s: the longest rebalance timeout.
    script.sleep_to(9_500).send(new_member(5)).sleep_to(12_000).shows(expect![[r#"
        @9000 tick
        @9500 #5 Join g - range=b"r"
        @10000 tick
            reply #1 Joined c-1 generation 1 "range" leader c-1 c-1=b"r" c-2=b"r" c-3=b"r" c-4=b"r" c-5=b"r"
            reply #2 Joined c-2 generation 1 "range" leader c-1
            reply #3 Joined c-3 generation 1 "range" leader c-1
            reply #4 Joined c-4 generation 1 "range" leader c-1
            reply #5 Joined c-5 generation 1 "range" leader c-1
    "#]]);
}

#[test]
fn an_id_is_asked_for_and_expires() {
    let asks = |number| {
        let uuid = Uuid::from_u128(number);
        Command::Join(JoinGroup { requires_known_member_id: true, uuid, ..join("") })
    };
    let mut script = script(settings());
    script
        .send(asks(1))
        .send(heartbeat(1, 0))
        .send(sync(1, 0, &[]))
        .send(commit(&id(1), 0))
        .send(Command::Join(JoinGroup { instance_id: Some("i".into()), ..join(&id(1)) }))
        .send(rejoin(1))
        .sleep_to(0)
        .send(sync(1, 1, &[]))
        .shows(expect![[r#"
            @0 #1 Join g - range=b"r"
                write Group g generation 0 ""
                reply #1 MemberIdRequired c-1
            @0 #2 Heartbeat g c-1 generation 0
                reply #2 UnknownMemberId
            @0 #3 Sync g c-1 generation 0
                reply #3 UnknownMemberId
            @0 #4 Commit g c-1 generation 0 t-0@5
                reply #4 Offsets t-0:UnknownMemberId
            @0 #5 Join g c-1/i range=b"r"
                reply #5 UnknownServerError c-1
            @0 #6 Join g c-1 range=b"r"
            @0 tick
                reply #6 Joined c-1 generation 1 "range" leader c-1 c-1=b"r"
            @0 #7 Sync g c-1 generation 1
                write Group g generation 1 "consumer" "range" leader c-1 c-1=b""
                reply #7 Synced b""
        "#]]);
    // Whoever was only given an id is waited for.
    script.send(asks(2)).send(asks(3)).send(rejoin(2)).send(rejoin(1)).send(leave(&id(3)));
    script.shows(expect![[r#"
        @0 #8 Join g - range=b"r"
            reply #8 MemberIdRequired c-2
        @0 #9 Join g - range=b"r"
            reply #9 MemberIdRequired c-3
        @0 #10 Join g c-2 range=b"r"
        @0 #11 Join g c-1 range=b"r"
        @0 #12 Leave g c-3
            reply #11 Joined c-1 generation 2 "range" leader c-1 c-1=b"r" c-2=b"r"
            reply #10 Joined c-2 generation 2 "range" leader c-1
            reply #12 Left c-3
    "#]]);
    script.send(sync(1, 2, &[])).send(sync(2, 2, &[])).unchecked();
    // It keeps the others waiting until its session ends.
    let brief = JoinGroup {
        requires_known_member_id: true,
        session_timeout_ms: 6_000,
        uuid: Uuid::from_u128(4),
        ..join("")
    };
    script.send(Command::Join(brief)).send(rejoin(1)).send(rejoin(2)).sleep_to(5_999);
    script.sleep_to(6_000).shows(expect![[r#"
        @0 #15 Join g - range=b"r"
            reply #15 MemberIdRequired c-4
        @0 #16 Join g c-1 range=b"r"
        @0 #17 Join g c-2 range=b"r"
        @6000 tick
            reply #16 Joined c-1 generation 3 "range" leader c-1 c-1=b"r" c-2=b"r"
            reply #17 Joined c-2 generation 3 "range" leader c-1
    "#]]);
}

#[test]
fn sessions_end_without_heartbeats() {
    let mut script = stable(settings());
    script.sleep_to(8_000).send(heartbeat(1, 2)).sleep_to(9_999).unchecked();
    script.sleep_to(10_000).send(heartbeat(2, 2)).send(rejoin(1)).shows(expect![[r#"
        @10000 tick
        @10000 #8 Heartbeat g c-2 generation 2
            reply #8 UnknownMemberId
        @10000 #9 Join g c-1 range=b"r"
            reply #9 Joined c-1 generation 3 "range" leader c-1 c-1=b"r"
    "#]]);
    // A commit is a sign of life too.
    script.send(sync(1, 3, &[])).sleep_to(19_000).send(commit(&id(1), 3)).sleep_to(28_999);
    script.send(describe()).sleep_to(29_000).send(describe()).shows(expect![[r#"
        @10000 #10 Sync g c-1 generation 3
            write Group g generation 3 "consumer" "range" leader c-1 c-1=b""
            reply #10 Synced b""
        @19000 #11 Commit g c-1 generation 3 t-0@5
            write Offset g t-0 5 epoch -1 "m"
            reply #11 Offsets t-0
        @28999 #12 Describe ["g"]
            reply #12 Described (g Stable "consumer" "range" c-1=b"r"/b"")
        @29000 tick
            write Group g generation 4 "consumer"
        @29000 #13 Describe ["g"]
            reply #13 Described (g Empty "consumer" "")
    "#]]);
}

#[test]
fn late_members_are_left_behind() {
    let mut script = stable(settings());
    script.send(new_member(3)).sleep_to(5_000).send(heartbeat(1, 2)).send(heartbeat(2, 2));
    script.send(rejoin(2)).sleep_to(9_999).unchecked();
    // The leader has not joined: another one leads.
    script.sleep_to(10_000).send(heartbeat(1, 3)).shows(expect![[r#"
        @10000 tick
            reply #10 Joined c-2 generation 3 "range" leader c-2 c-2=b"r" c-3=b"r"
            reply #7 Joined c-3 generation 3 "range" leader c-2
        @10000 #11 Heartbeat g c-1 generation 3
            reply #11 UnknownMemberId
    "#]]);
}

#[test]
fn a_new_member_is_not_waited_for_for_ever() {
    let mut script = stable(settings());
    let slow = JoinGroup { rebalance_timeout_ms: 900_000, uuid: Uuid::from_u128(3), ..join("") };
    script.send(Command::Join(slow)).unchecked();
    for second in 1..60 {
        script.sleep_to(second * 5_000).send(heartbeat(1, 2)).send(heartbeat(2, 2)).unchecked();
    }
    script.sleep_to(300_000).send(describe()).shows(expect![[r#"
        @300000 tick
            reply #7 UnknownMemberId -
        @300000 #126 Describe ["g"]
            reply #126 Described (g PreparingRebalance "consumer" "" c-1=b""/b"A" c-2=b""/b"B")
    "#]]);
}

#[test]
fn members_that_do_not_sync_are_left_behind() {
    let mut script = completing(settings());
    script.sleep_to(5_000).send(heartbeat(1, 2)).send(heartbeat(2, 2)).send(sync(2, 2, &[]));
    script.unchecked();
    script.sleep_to(10_000).shows(expect![[r#"
        @10000 tick
            reply #7 RebalanceInProgress
    "#]]);
    // Also when the group is stable already.
    script.send(rejoin(2)).send(new_member(3)).send(rejoin(2)).send(sync(2, 4, &[]));
    script.unchecked();
    script.sleep_to(15_000).send(heartbeat(2, 4)).send(heartbeat(3, 4)).sleep_to(20_000);
    script.shows(expect![[r#"
        @15000 #12 Heartbeat g c-2 generation 4
            reply #12 Ok
        @15000 #13 Heartbeat g c-3 generation 4
            reply #13 Ok
        @20000 tick
    "#]]);
}

#[test]
fn the_protocol_most_members_like_best_wins_among_those_all_support() {
    let likes = |number, names: &[&str]| {
        let protocols = names.iter().map(|it| protocol(it, it)).collect();
        Command::Join(JoinGroup { protocols, uuid: Uuid::from_u128(number), ..join("") })
    };
    let mut script =
        script(Settings { group_initial_rebalance_delay_ms: 10, ..Settings::default() });
    script.send(likes(1, &["range", "sticky"])).send(likes(2, &["new", "sticky", "range"]));
    script.send(likes(3, &["sticky", "range", "sticky"])).send(likes(4, &["new"]));
    script.sleep_to(20).shows(expect![[r#"
        @0 #1 Join g - range=b"range" sticky=b"sticky"
            write Group g generation 0 ""
        @0 #2 Join g - new=b"new" sticky=b"sticky" range=b"range"
        @0 #3 Join g - sticky=b"sticky" range=b"range" sticky=b"sticky"
        @0 #4 Join g - new=b"new"
            reply #4 InconsistentGroupProtocol -
        @10 tick
        @20 tick
            reply #1 Joined c-1 generation 1 "sticky" leader c-1 c-1=b"sticky" c-2=b"sticky" c-3=b"sticky"
            reply #2 Joined c-2 generation 1 "sticky" leader c-1
            reply #3 Joined c-3 generation 1 "sticky" leader c-1
    "#]]);
}

#[test]
fn a_full_group_refuses() {
    let mut script = stable(Settings { group_max_size: 2, ..settings() });
    script.send(new_member(3)).send(rejoin(2)).shows(expect![[r#"
        @0 #7 Join g - range=b"r"
            reply #7 GroupMaxSizeReached -
        @0 #8 Join g c-2 range=b"r"
            reply #8 Joined c-2 generation 2 "range" leader c-1
    "#]]);
    // While members join, those that wait are counted.
    script.send(rejoin(1)).send(new_member(4)).send(rejoin(2)).shows(expect![[r#"
        @0 #9 Join g c-1 range=b"r"
        @0 #10 Join g - range=b"r"
        @0 #11 Join g c-2 range=b"r"
            reply #11 GroupMaxSizeReached -
    "#]]);
}

#[test]
fn an_assignment_that_does_not_fit_is_refused_and_the_group_rebalances() {
    let mut script = completing(Settings { message_max_bytes: 500, ..settings() });
    let large: &'static str = "x".repeat(400).leak();
    script.send(sync(2, 2, &[])).unchecked();
    script.send(sync(1, 2, &[(1, large)])).unchecked();
    script.send(describe()).send(rejoin(1)).send(rejoin(2)).shows(expect![[r#"
        @0 #7 Describe ["g"]
            reply #7 Described (g PreparingRebalance "consumer" "" c-1=b""/b"" c-2=b""/b"")
        @0 #8 Join g c-1 range=b"r"
        @0 #9 Join g c-2 range=b"r"
            reply #8 Joined c-1 generation 3 "range" leader c-1 c-1=b"r" c-2=b"r"
            reply #9 Joined c-2 generation 3 "range" leader c-1
    "#]]);
}

#[test]
fn sessions_have_bounds() {
    let lasting = |session_timeout_ms| Command::Join(JoinGroup { session_timeout_ms, ..join("") });
    script(settings()).send(lasting(5_999)).send(lasting(1_800_001)).shows(expect![[r#"
        @0 #1 Join g - range=b"r"
            reply #1 InvalidSessionTimeout -
        @0 #2 Join g - range=b"r"
            reply #2 InvalidSessionTimeout -
    "#]]);
}

#[test]
fn groups_are_listed_by_state_and_type() {
    let list = |states: &[&str], types: &[&str]| {
        let owned = |them: &[&str]| them.iter().map(|it| (*it).to_owned()).collect();
        Command::List { states: owned(states), types: owned(types) }
    };
    let mut script = stable(settings());
    script.send(Command::Commit(commit_of("h", "", -1))).unchecked();
    script
        .send(list(&[], &[]))
        .send(list(&[" stable"], &[]))
        .send(list(&["EMPTY", "dead"], &["Classic"]))
        .send(list(&[], &["consumer"]))
        .send(list(&["bogus"], &[]))
        .shows(expect![[r#"
            @0 #8 List [] []
                reply #8 Listed (g Stable "consumer") (h Empty "")
            @0 #9 List [" stable"] []
                reply #9 Listed (g Stable "consumer")
            @0 #10 List ["EMPTY", "dead"] ["Classic"]
                reply #10 Listed (h Empty "")
            @0 #11 List [] ["consumer"]
                reply #11 Listed
            @0 #12 List ["bogus"] []
                reply #12 Listed
        "#]]);
}
