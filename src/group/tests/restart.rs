//! What a restart keeps: offsets and the last generation written.

use super::*;

#[test]
fn a_stable_group_goes_on_with_fresh_sessions() {
    let mut before = script(settings());
    before.send(new_member(1)).sleep_to(0).send(sync(1, 1, &[(1, "A")])).send(commit(&id(1), 1));
    before.sleep_to(9_000).unchecked();
    let mut after = restarted(&before, settings());
    after.elected(2).sleep_to(9_999).send(heartbeat(1, 1)).send(sync(1, 1, &[])).send(describe());
    after.send(Command::Fetch { group: "g".into(), topics: None }).sleep_to(19_999);
    after.shows(expect![[r#"
        @0 elected 2
        @9999 #1 Heartbeat g c-1 generation 1
            reply #1 Ok
        @9999 #2 Sync g c-1 generation 1
            reply #2 Synced b"A"
        @9999 #3 Describe ["g"]
            reply #3 Described (g Stable "consumer" "range" c-1=b"r"/b"A")
        @9999 #4 Fetch g all
            reply #4 Fetched t-0@5 "m"
        @19999 tick
            write Group g generation 2 "consumer"
    "#]]);
}

/// The members know a generation that was never written: they are told so and join again, and meanwhile the partitions
/// are still those of the generation before. Nobody's stay unowned.
#[test]
fn a_rebalance_is_forgotten_and_begun_again() {
    let mut before = script(settings());
    before.send(new_member(1)).sleep_to(0).send(sync(1, 1, &[(1, "A")]));
    before.send(new_member(2)).send(rejoin(1)).unchecked();
    let mut after = restarted(&before, settings());
    after.elected(2).send(heartbeat(1, 2)).send(heartbeat(2, 2)).send(sync(2, 2, &[]));
    after.send(rejoin(2)).send(new_member(3)).send(rejoin(1)).shows(expect![[r#"
        @0 elected 2
        @0 #1 Heartbeat g c-1 generation 2
            reply #1 IllegalGeneration
        @0 #2 Heartbeat g c-2 generation 2
            reply #2 UnknownMemberId
        @0 #3 Sync g c-2 generation 2
            reply #3 UnknownMemberId
        @0 #4 Join g c-2 range=b"r"
            reply #4 UnknownMemberId c-2
        @0 #5 Join g - range=b"r"
        @0 #6 Join g c-1 range=b"r"
            reply #6 Joined c-1 generation 2 "range" leader c-1 c-1=b"r" c-3=b"r"
            reply #5 Joined c-3 generation 2 "range" leader c-1
    "#]]);
}

#[test]
fn a_group_that_never_got_a_generation_is_empty() {
    let mut before = script(settings());
    before.send(new_member(1)).unchecked();
    let mut after = restarted(&before, settings());
    after.elected(2).send(describe()).send(rejoin(1)).send(new_member(2)).shows(expect![[r#"
        @0 elected 2
        @0 #1 Describe ["g"]
            reply #1 Described (g Empty "" "")
        @0 #2 Join g c-1 range=b"r"
            reply #2 UnknownMemberId c-1
        @0 #3 Join g - range=b"r"
    "#]]);
}

#[test]
fn a_group_above_a_lowered_limit_rebalances() {
    let mut before = script(settings());
    before.send(new_member(1)).sleep_to(0).send(sync(1, 1, &[]));
    before.send(new_member(2)).send(rejoin(1)).send(sync(1, 2, &[])).unchecked();
    let mut after = restarted(&before, Settings { group_max_size: 1, ..settings() });
    after.elected(2).send(describe()).send(rejoin(1)).send(rejoin(2)).sleep_to(10_000);
    after.shows(expect![[r#"
        @0 elected 2
        @0 #1 Describe ["g"]
            reply #1 Described (g PreparingRebalance "consumer" "" c-1=b""/b"" c-2=b""/b"")
        @0 #2 Join g c-1 range=b"r"
        @0 #3 Join g c-2 range=b"r"
            reply #3 GroupMaxSizeReached -
        @10000 tick
            reply #2 Joined c-1 generation 3 "range" leader c-1 c-1=b"r"
    "#]]);
}

#[test]
fn a_group_of_offsets_alone_is_there_again() {
    let mut before = script(settings());
    before.send(commit("", -1)).unchecked();
    let mut after = restarted(&before, settings());
    after.elected(2).send(describe()).send(commit("", -1)).shows(expect![[r#"
        @0 elected 2
        @0 #1 Describe ["g"]
            reply #1 Described (g Empty "" "")
        @0 #2 Commit g - generation -1 t-0@5
            write Offset g t-0 5 epoch -1 "m"
            reply #2 Offsets t-0
    "#]]);
}
