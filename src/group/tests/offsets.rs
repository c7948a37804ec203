//! Offsets: commit, fetch, delete, expire.

use super::*;
use crate::ids::TopicId;

const HOUR: u64 = 3_600_000;

fn fetch(group: &str) -> Command {
    Command::Fetch { group: group.into(), topics: None }
}

fn delete(topics: &[(&str, &[i32])]) -> Command {
    let topics = topics.iter().map(|(topic, them)| ((*topic).to_owned(), them.to_vec()));
    Command::DeleteOffsets { group: "g".into(), topics: topics.collect() }
}

/// `c-1` consumes `topics` in a stable generation 1.
fn consumer_of(topics: &[&str], settings: Settings) -> Script<GroupMachine> {
    let mut script = script(settings);
    let protocols = vec![Protocol { name: "range".into(), metadata: subscription(topics) }];
    let uuid = Uuid::from_u128(1);
    let session_timeout_ms = 1_800_000;
    let request = JoinGroup { protocols, uuid, session_timeout_ms, ..join("") };
    script.send(Command::Join(request)).sleep_to(0).send(sync(1, 1, &[])).unchecked();
    script
}

/// Tells nothing else than what is written from `from` to `to`, with a member that stays alive.
fn written_between(
    script: &mut Script<GroupMachine>,
    from: u64,
    to: u64,
    generation: i32,
) -> String {
    for at in (from..=to).step_by(600_000) {
        script.sleep_to(at).send(heartbeat(1, generation));
    }
    let text = script.transcript().to_owned();
    script.unchecked();
    text.lines().filter(|it| it.contains("write")).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_commit_without_a_group_makes_one() {
    let mut script = script(settings());
    script.send(commit("", -1)).send(fetch("g")).send(fetch("h")).send(describe());
    script.shows(expect![[r#"
        @0 #1 Commit g - generation -1 t-0@5
            write Offset g t-0 5 epoch -1 "m"
            reply #1 Offsets t-0
        @0 #2 Fetch g all
            reply #2 Fetched t-0@5 "m"
        @0 #3 Fetch h all
            reply #3 Fetched
        @0 #4 Describe ["g"]
            reply #4 Described (g Empty "" "")
    "#]]);
    let asked = vec![("t".to_owned(), vec![1, 0]), ("u".to_owned(), vec![0])];
    script.send(Command::Fetch { group: "g".into(), topics: Some(asked) }).shows(expect![[r#"
        @0 #5 Fetch g [("t", [1, 0]), ("u", [0])]
            reply #5 Fetched t-1@-1 "" t-0@5 "m" u-0@-1 ""
    "#]]);
}

#[test]
fn metadata_has_a_bound_for_each_partition() {
    let of = |partition, len| CommittedOffset {
        partition,
        offset: 1,
        leader_epoch: 3,
        metadata: "ä".repeat(len),
    };
    let mut script = script(Settings { offset_metadata_max_bytes: 4, ..settings() });
    let topics = vec![("t".to_owned(), vec![of(0, 5), of(1, 4)])];
    script.send(Command::Commit(OffsetCommit { topics, ..commit_of("g", "", -1) }));
    script.shows(expect![[r#"
        @0 #1 Commit g - generation -1 t-0@1 t-1@1
            write Offset g t-1 1 epoch 3 "ääää"
            reply #1 Offsets t-0:OffsetMetadataTooLarge t-1
    "#]]);
    let topics = vec![("t".to_owned(), vec![of(0, 5)])];
    script.send(Command::Commit(OffsetCommit { topics, ..commit_of("h", "", -1) }));
    script.send(Command::Describe { groups: vec!["h".into()] }).shows(expect![[r#"
        @0 #2 Commit h - generation -1 t-0@1
            reply #2 Offsets t-0:OffsetMetadataTooLarge
        @0 #3 Describe ["h"]
            reply #3 Described (h unknown)
    "#]]);
}

#[test]
fn a_commit_is_written_whole_or_not_at_all() {
    let of = |partition| CommittedOffset {
        partition,
        offset: 1,
        leader_epoch: -1,
        metadata: String::new(),
    };
    let mut script = script(Settings { message_max_bytes: 250, ..settings() });
    let topics = vec![("t".to_owned(), (0..3).map(of).collect())];
    script.send(Command::Commit(OffsetCommit { topics, ..commit_of("g", "", -1) }));
    script.send(describe()).shows(expect![[r#"
        @0 #1 Commit g - generation -1 t-0@1 t-1@1 t-2@1
            reply #1 Offsets t-0:UnknownServerError t-1:UnknownServerError t-2:UnknownServerError
        @0 #2 Describe ["g"]
            reply #2 Described (g unknown)
    "#]]);
}

#[test]
fn offsets_of_consumed_topics_are_not_deleted() {
    let mut script = consumer_of(&["t"], settings());
    let offset = |partition| CommittedOffset {
        partition,
        offset: 1,
        leader_epoch: -1,
        metadata: String::new(),
    };
    let topics = vec![("t".into(), vec![offset(0)]), ("u".into(), vec![offset(0), offset(1)])];
    script.send(Command::Commit(OffsetCommit { topics, ..commit_of("g", &id(1), 1) })).unchecked();
    script.send(delete(&[("t", &[0]), ("u", &[0, 0, 9])])).send(fetch("g")).shows(expect![[r#"
        @0 #4 DeleteOffsets g [("t", [0]), ("u", [0, 0, 9])]
            write Offset g u-0 tombstone
            reply #4 Offsets t-0:GroupSubscribedToTopic u-0 u-0 u-9
        @0 #5 Fetch g all
            reply #5 Fetched t-0@1 "" u-1@1 ""
    "#]]);
    // In a group that is no consumer's nothing is, as long as it has members.
    let other = JoinGroup { group: "h".into(), protocol_type: "connect".into(), ..join("") };
    script.send(Command::Join(other)).unchecked();
    script.send(Command::DeleteOffsets { group: "h".into(), topics: Vec::new() });
    script.shows(expect![[r#"
        @0 #7 DeleteOffsets h []
            reply #7 NonEmptyGroup
    "#]]);
}

#[test]
fn a_deleted_group_is_gone_with_its_offsets() {
    let mut script = script(settings());
    script.send(commit("", -1)).send(new_member(1)).unchecked();
    script.send(Command::Delete { groups: vec!["g".into(), "h".into()] }).shows(expect![[r#"
        @0 #3 Delete ["g", "h"]
            reply #3 Deleted g:NonEmptyGroup h:GroupIdNotFound
    "#]]);
    script.send(leave(&id(1))).sleep_to(0).unchecked();
    script.send(Command::Delete { groups: vec!["g".into()] }).send(describe()).send(fetch("g"));
    script.shows(expect![[r#"
        @0 #5 Delete ["g"]
            write Offset g t-0 tombstone
            write Group g tombstone
            reply #5 Deleted g
        @0 #6 Describe ["g"]
            reply #6 Described (g unknown)
        @0 #7 Fetch g all
            reply #7 Fetched
    "#]]);
    let mut after = restarted(&script, settings());
    after.elected(2).send(describe()).send(fetch("g")).shows(expect![[r#"
        @0 elected 2
        @0 #1 Describe ["g"]
            reply #1 Described (g unknown)
        @0 #2 Fetch g all
            reply #2 Fetched
    "#]]);
}

#[test]
fn offsets_of_deleted_topics_go() {
    let mut script = script(Settings { message_max_bytes: 141, ..settings() });
    let topic = |name: &str| {
        Command::Commit(OffsetCommit {
            topics: vec![(
                name.into(),
                vec![CommittedOffset {
                    partition: 0,
                    offset: 1,
                    leader_epoch: -1,
                    metadata: String::new(),
                }],
            )],
            ..commit_of("g", "", -1)
        })
    };
    script.send(topic("a")).send(topic("b")).send(topic("c")).unchecked();
    let gone = ["a", "c", "x"].map(|name| (name.to_owned(), TopicId(Uuid::from_u128(1))));
    script.event(Event::TopicsDeleted(gone.to_vec())).sleep_to(0);
    script.send(fetch("g")).shows(expect![[r#"
        @0 event TopicsDeleted a 1 c 1 x 1
            write Offset g a-0 tombstone
        @0 tick
            write Offset g c-0 tombstone
        @0 #4 Fetch g all
            reply #4 Fetched b-0@1 ""
    "#]]);
}

/// A commit for incarnation `id` of topic `t`.
fn commit_to(id: u128, partition: i32) -> Command {
    let offset = CommittedOffset { partition, offset: 1, leader_epoch: -1, metadata: "".into() };
    Command::Commit(OffsetCommit {
        topics: vec![("t".into(), vec![offset])],
        topic_ids: [("t".to_owned(), TopicId(Uuid::from_u128(id)))].into(),
        ..commit_of("g", "", -1)
    })
}

/// Its offsets used to go with those of the topic before: it was deleted and created again between two looks at the image.
#[test]
fn a_topic_that_is_created_again_keeps_its_offsets() {
    let mut script = script(settings());
    script.send(commit_to(1, 0)).send(commit_to(1, 1)).unchecked();
    script.send(commit_to(2, 0));
    let gone = vec![("t".into(), TopicId(Uuid::from_u128(1)))];
    script.event(Event::TopicsDeleted(gone)).send(fetch("g"));
    // One that was on its way while the topic was deleted.
    script.send(commit_to(1, 1)).send(commit_to(2, 2)).send(fetch("g")).shows(expect![[r#"
        @0 #3 Commit g - generation -1 t-0@1
            write Offset g t-0 1 epoch -1 "" of 2
            reply #3 Offsets t-0
        @0 event TopicsDeleted t 1
            write Offset g t-1 tombstone
        @0 #4 Fetch g all
            reply #4 Fetched t-0@1 ""
        @0 #5 Commit g - generation -1 t-1@1
            reply #5 Offsets t-1:UnknownTopicOrPartition
        @0 #6 Commit g - generation -1 t-2@1
            write Offset g t-2 1 epoch -1 "" of 2
            reply #6 Offsets t-2
        @0 #7 Fetch g all
            reply #7 Fetched t-0@1 "" t-2@1 ""
    "#]]);
}

/// The broker died between a topic's deletion and the tombstones of its offsets.
#[test]
fn a_start_forgets_offsets_of_topics_that_are_gone() {
    let mut before = script(settings());
    before.send(commit_to(1, 0)).send(commit_to(2, 1)).send(commit("", -1)).unchecked();
    for (topics, left) in
        [(vec![("t", 1)], "t-0@5 \"m\""), (vec![("t", 2)], "t-0@5 \"m\" t-1@1 \"\"")]
    {
        let mut image = crate::cluster::Image::default();
        for (name, id) in topics {
            let topic_id = TopicId(Uuid::from_u128(id));
            image.apply(&crate::cluster::Record::Topic { name: name.into(), topic_id });
        }
        let mut after = restarted(&before, settings());
        after.elected(2).event(Event::Topics(image.into())).send(fetch("g"));
        assert!(
            after.transcript().ends_with(&format!("Fetched {left}\n")),
            "{}",
            after.transcript()
        );
    }
    let mut after = restarted(&before, settings());
    after.elected(2).event(Event::Topics(Default::default())).send(fetch("g")).shows(expect![[
        r#"
        @0 elected 2
        @0 event Topics
            write Offset g t-0 tombstone
            write Offset g t-1 tombstone
        @0 #1 Fetch g all
            reply #1 Fetched
    "#
    ]]);
}

#[test]
fn offsets_of_a_simple_group_expire_after_their_commit() {
    let mut script = script(Settings { offsets_retention_minutes: 120, ..settings() });
    script.send(commit("", -1)).sleep_to(2 * HOUR - 1).unchecked();
    script.sleep_to(2 * HOUR).shows(expect![[r#"
        @7200000 tick
            write Offset g t-0 tombstone
            write Group g tombstone
    "#]]);
}

#[test]
fn offsets_of_an_empty_group_expire_after_it_became_empty() {
    let mut script = consumer_of(&["t"], Settings { offsets_retention_minutes: 120, ..settings() });
    script.send(commit(&id(1), 1)).unchecked();
    assert_eq!(written_between(&mut script, 1_000, 3 * HOUR, 1), "", "members keep them");
    script.sleep_to(3 * HOUR + 5_000).send(leave(&id(1))).sleep_to(5 * HOUR + 1).unchecked();
    script.send(describe()).sleep_to(5 * HOUR + 600_000).shows(expect![[r#"
        @18000001 #23 Describe ["g"]
            reply #23 Described (g Empty "consumer" "")
        @18600000 tick
            write Offset g t-0 tombstone
            write Group g tombstone
    "#]]);
}

#[test]
fn a_stable_group_loses_offsets_of_topics_nobody_consumes() {
    let settings = Settings { offsets_retention_minutes: 120, ..settings() };
    let mut script = consumer_of(&["other"], settings.clone());
    script.send(commit(&id(1), 1)).unchecked();
    let lines = written_between(&mut script, 1_000, 3 * HOUR, 1);
    expect!["    write Offset g t-0 tombstone"].assert_eq(&lines);
    // Metadata that cannot be read may mean any topic.
    let mut script = super::script(settings);
    let (uuid, session_timeout_ms) = (Uuid::from_u128(1), 1_800_000);
    script.send(Command::Join(JoinGroup { uuid, session_timeout_ms, ..join("") })).sleep_to(0);
    script.send(sync(1, 1, &[])).send(commit(&id(1), 1)).unchecked();
    assert_eq!(written_between(&mut script, 1_000, 3 * HOUR, 1), "");
}

#[test]
fn a_commit_may_name_its_own_retention() {
    let mut script = script(settings());
    let brief = OffsetCommit { retention_ms: 1_000_000, ..commit_of("g", "", -1) };
    script.send(Command::Commit(brief)).sleep_to(1_000_000).shows(expect![[r#"
        @0 #1 Commit g - generation -1 t-0@5
            write Offset g t-0 5 epoch -1 "m" expires 1700001000000
            reply #1 Offsets t-0
        @600000 tick
    "#]]);
    script.sleep_to(1_200_000).shows(expect![[r#"
        @1200000 tick
            write Offset g t-0 tombstone
            write Group g tombstone
    "#]]);
}

#[test]
fn an_empty_group_without_offsets_goes_at_the_next_look() {
    let mut script = script(settings());
    script.send(new_member(1)).sleep_to(0).send(leave(&id(1))).sleep_to(599_999).unchecked();
    script.sleep_to(600_000).send(describe()).shows(expect![[r#"
        @600000 tick
            write Group g tombstone
        @600000 #3 Describe ["g"]
            reply #3 Described (g unknown)
    "#]]);
}

#[test]
fn what_expires_together_is_written_in_as_many_batches_as_it_takes() {
    let settings = Settings { offsets_retention_minutes: 1, message_max_bytes: 160, ..settings() };
    let mut script = script(settings);
    for group in ["g", "h", "i"] {
        script.send(Command::Commit(commit_of(group, "", -1)));
    }
    script.unchecked();
    script.sleep_to(600_000).shows(expect![[r#"
        @600000 tick
            write Offset g t-0 tombstone
            write Group g tombstone
        @600000 tick
            write Offset h t-0 tombstone
            write Group h tombstone
        @600000 tick
            write Offset i t-0 tombstone
            write Group i tombstone
    "#]]);
}

#[test]
fn an_answer_cannot_grow_without_end() {
    let mut script = script(settings());
    script.send(commit("", -1)).unchecked();
    let topics = Some(vec![("t".to_owned(), vec![0; 3_000_000])]);
    script.send(Command::Fetch { group: "g".into(), topics });
    assert!(script.transcript().ends_with("reply #2 UnknownServerError\n"));
}

#[test]
fn groups_have_a_bound() {
    let mut script = script(Settings { groups_max: 1, ..settings() });
    let of = |group: &str| Command::Commit(commit_of(group, "", -1));
    let join = |group: &str| Command::Join(JoinGroup { group: group.into(), ..join("") });
    script.send(join("g")).send(leave(&id(0))).unchecked();
    script.send(of("h")).send(join("h")).send(of("g")).shows(expect![[r#"
        @0 #3 Commit h - generation -1 t-0@5
            reply #3 Offsets t-0:CoordinatorNotAvailable
        @0 #4 Join h - range=b"r"
            reply #4 CoordinatorNotAvailable -
        @0 #5 Commit g - generation -1 t-0@5
            reply #5 Offsets t-0:UnknownMemberId
    "#]]);
    script.sleep_to(0).unchecked();
    script.send(Command::Delete { groups: vec!["g".into()] }).unchecked();
    script.send(of("h")).send(of("g")).shows(expect![[r#"
        @0 #7 Commit h - generation -1 t-0@5
            write Offset h t-0 5 epoch -1 "m"
            reply #7 Offsets t-0
        @0 #8 Commit g - generation -1 t-0@5
            reply #8 Offsets t-0:CoordinatorNotAvailable
    "#]]);
}
