//! What was promised, and whether it is kept.
//!
//! `History` remembers what clients were told; `look` compares it with what can be read. Kill -9 takes nothing that was
//! written; a power cut takes the unsynced end of topics that are not synced per request, and is noted by `power_cut`.

use super::{clients::TOPICS, hosted::Hosted, node::Node};
use crate::{
    broker::logs::Name,
    cluster::names::CONSUMER_OFFSETS,
    controller::machine::{Controller, Settings},
    ids::{LogId, Offset, TopicId},
    partition::{Isolation, producers::Producers},
    storage::{HEAD_BYTES, LogStore},
    wire::batch::{self, Batch},
};
use bytes::Bytes;
use futures_util::FutureExt;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A batch that was sent once or, by an idempotent producer, several times.
pub struct Attempt {
    pub bytes: Bytes,
    pub to: Name,
}

/// What is known of a partition.
#[derive(Default)]
pub struct Known {
    /// Attempts by the offset that was answered.
    acknowledged: BTreeMap<Offset, u64>,
    /// The last sequence that was acknowledged, by producer id: it is remembered even of what is deleted.
    sequences: BTreeMap<i64, i32>,
    high_watermark: Offset,
    /// Records below it are gone, a client was told.
    log_start: Offset,
    /// The most that anyone asked to delete below.
    pub deletion_asked: Offset,
    /// A power cut may have taken what lies from here on; looked at when the partition is there again.
    at_risk: Option<Offset>,
    pub log: Option<LogId>,
}

impl Known {
    /// Whoever was acknowledged is known, so that no retry is appended again.
    fn remembered(&self, producers: &Producers, at: &str) {
        let active = producers.active();
        for (id, last) in &self.sequences {
            let found = active.iter().find(|it| it.id == *id).map(|it| it.last_sequence);
            assert!(found >= Some(*last), "{at}: producer {id} wrote {last}, known is {found:?}");
        }
    }
}

/// A value that OffsetFetch may answer.
struct Committed {
    at: u64,
    value: i64,
}

/// What may be committed for one partition of one group: what was sent, from the last that is certain on.
#[derive(Default)]
pub struct Commits {
    sent: Vec<Committed>,
    certain: u64,
    /// As certain, as long as the coordinator lives.
    volatile: u64,
}

type CommitKey = (String, String, i32);

#[derive(Default)]
pub struct History {
    pub attempts: HashMap<u64, Attempt>,
    pub partitions: BTreeMap<Name, Known>,
    pub commits: BTreeMap<CommitKey, Commits>,
    clock: u64,
    /// The newest generation that a member was given its share of, by group.
    generations: BTreeMap<String, i32>,
    /// What the leader of a generation assigned, by group and generation, once a member was told.
    assignments: BTreeMap<(String, i32, String), Bytes>,
    /// Who leads a generation, while the coordinator lives.
    leaders: BTreeMap<(u64, String, i32), String>,
    logs: BTreeMap<LogId, Name>,
    producer_ids: BTreeSet<i64>,
    metadata_offset: i64,
    /// Topics as clients see them.
    shown: BTreeMap<&'static str, TopicId>,
    /// Topics that are deleted, which clients do not know yet.
    going: BTreeSet<&'static str>,
    pub counts: Counts,
}

/// How often something was promised, so that a run in which nothing happens is noticed.
#[derive(Debug, Default, Clone, Copy)]
pub struct Counts {
    pub acknowledged: u64,
    pub committed: u64,
    pub fetched_offsets: u64,
    pub assigned: u64,
    pub deleted: u64,
    pub duplicates: u64,
    pub deletions: u64,
}

impl History {
    pub fn time(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    pub fn producer_id(&mut self, id: i64) {
        assert!(self.producer_ids.insert(id), "producer id {id} was given out twice");
    }

    pub fn acknowledged(&mut self, attempt: u64, offset: Offset) {
        let Attempt { to, bytes } = &self.attempts[&attempt];
        let known = self.partitions.entry(*to).or_default();
        let header = batch::check(9, bytes.clone(), usize::MAX).expect("it was sent").header;
        if header.has_producer_id() {
            let last = header.base_sequence + header.records_count - 1;
            let newest = known.sequences.entry(header.producer_id).or_insert(last);
            *newest = last.max(*newest);
        }
        let before = known.acknowledged.insert(offset, attempt);
        self.counts.acknowledged += 1;
        assert!(
            before.is_none_or(|before| before == attempt),
            "offset {offset} was answered to {before:?} and {attempt}"
        );
    }

    pub fn deletion_asked(&mut self, name: Name, before: Offset) {
        let known = self.partitions.entry(name).or_default();
        known.deletion_asked = known.deletion_asked.max(before);
    }

    pub fn records_deleted(&mut self, name: Name, start: Offset) {
        let known = self.partitions.entry(name).or_default();
        known.log_start = known.log_start.max(start);
        self.counts.deletions += u64::from(start > 0);
    }

    /// A power cut: what is not synced may be gone.
    pub fn power_cut(&mut self, node: &Node) {
        for hosted in node.process.hosted() {
            if hosted.config.flush_messages != 1 {
                let safe = hosted.durable();
                let known = self.partitions.entry(hosted.name).or_default();
                known.at_risk = Some(known.at_risk.map_or(safe, |before| before.min(safe)));
            }
            if hosted.topic == CONSUMER_OFFSETS {
                self.commits.values_mut().for_each(|it| (it.certain, it.volatile) = (0, 0));
                self.generations.clear();
                self.assignments.clear();
            }
        }
        self.crash();
    }

    /// The coordinator is gone with all it had not written.
    pub fn crash(&mut self) {
        self.commits.values_mut().for_each(|it| it.volatile = it.certain);
    }

    // Committed offsets.

    pub fn commit_sent(&mut self, key: CommitKey, value: i64) -> u64 {
        let at = self.time();
        self.commits.entry(key).or_default().sent.push(Committed { at, value });
        at
    }

    pub fn commit_answered(&mut self, key: &CommitKey, at: u64) {
        self.counts.committed += 1;
        let commits = self.commits.entry(key.clone()).or_default();
        commits.certain = commits.certain.max(at);
    }

    /// Once a topic is seen to be gone nothing that was committed for it comes back, whatever happens.
    fn look_at_topics(&mut self, node: &Node) {
        if !node.process.serving {
            return;
        }
        let committed = node.committed();
        for topic in TOPICS {
            let shown = node.process.image.topic(topic).map(|it| it.id);
            let before = self.shown.get(topic).copied();
            match shown {
                Some(id) => self.shown.insert(topic, id),
                None => self.shown.remove(topic),
            };
            if before.is_some() && shown != before {
                self.counts.deleted += 1;
                let at = self.time();
                for (_, commits) in self.commits.iter_mut().filter(|((_, of, _), _)| of == topic) {
                    commits.sent.push(Committed { at, value: -1 });
                    commits.certain = at;
                }
            }
            match shown.is_some() && shown != committed.topic(topic).map(|it| it.id) {
                true => self.going.insert(topic),
                false => self.going.remove(topic),
            };
        }
    }

    /// OffsetFetch was asked when `floor` was certain, and answered.
    pub fn committed(&mut self, key: &CommitKey, floor: u64, value: i64) {
        let commits = self.commits.entry(key.clone()).or_default();
        let found = commits.sent.iter().find(|it| it.at >= floor && it.value == value);
        let sent: Vec<(u64, i64)> = commits.sent.iter().map(|it| (it.at, it.value)).collect();
        match found {
            Some(found) => {
                commits.certain = commits.certain.max(found.at);
                self.counts.fetched_offsets += 1;
            }
            None if value == -1 && (floor == 0 || self.going.contains(&*key.1)) => {}
            None => panic!("{key:?}: committed is {value}, since {floor} was sent: {sent:?}"),
        }
    }

    /// What OffsetFetch may not answer less than.
    pub fn floor(&self, key: &CommitKey) -> u64 {
        self.commits.get(key).map_or(0, |it| it.certain.max(it.volatile))
    }

    // Generations.

    pub fn joined(&mut self, life: u64, group: &str, generation: i32, leader: &str) {
        let known = self.generations.get(group).copied().unwrap_or(0);
        assert!(generation >= known, "{group}: generation {generation} after {known}");
        // A static member that comes back leads on under a new id (KIP-345).
        let leader = match leader.strip_prefix("static-") {
            Some(rest) => rest.split('-').next().unwrap_or(rest),
            None => leader,
        };
        let key = (life, group.to_owned(), generation);
        let before = self.leaders.insert(key, leader.to_owned());
        assert!(
            before.as_ref().is_none_or(|before| before == leader),
            "{group}: generation {generation} has leaders {before:?} and {leader}"
        );
    }

    pub fn synced(&mut self, group: &str, generation: i32, member: &str, assignment: &Bytes) {
        self.counts.assigned += 1;
        let newest = self.generations.entry(group.to_owned()).or_default();
        *newest = generation.max(*newest);
        let key = (group.to_owned(), generation, member.to_owned());
        let before = self.assignments.insert(key, assignment.clone());
        assert!(
            before.as_ref().is_none_or(|before| before == assignment),
            "{group}: {member} has {before:?} and {assignment:?} in generation {generation}"
        );
    }

    // What can be seen.

    /// What holds between any two steps.
    pub fn glance(&mut self, node: &Node) {
        self.look_at_topics(node);
        let process = &node.process;
        for hosted in process.partitions.values() {
            let view = hosted.view();
            let known = self.partitions.entry(hosted.name).or_default();
            let at = format!("{}-{}", hosted.topic, hosted.name.1);
            if let Some(safe) = known.at_risk.take() {
                assert!(view.log_end >= safe, "{at}: ends at {}, {safe} was safe", view.log_end);
                known.acknowledged.retain(|offset, _| *offset < view.log_end);
                known.sequences.clear();
                known.high_watermark = known.high_watermark.min(view.log_end);
            }
            // Who does not lead shows nothing; after a restart it knows the high watermark as last stored.
            if view.leading {
                assert!(
                    view.high_watermark >= known.high_watermark,
                    "{at}: the high watermark went from {} to {}",
                    known.high_watermark,
                    view.high_watermark
                );
                known.high_watermark = view.high_watermark;
            }
            assert!(view.log_start <= view.high_watermark && view.high_watermark <= view.log_end);
            known.remembered(hosted.replica.producers(), &at);
            let allowed = known.log_start..=known.deletion_asked;
            assert!(allowed.contains(&view.log_start), "{at}: {allowed:?} and {view:?}");
            if hosted.config.flush_messages == 1 {
                assert!(view.high_watermark <= hosted.durable(), "{at}: shows what is not synced");
            }
            match known.log {
                Some(log) => assert_eq!(log, hosted.log, "{at}: another log"),
                None => {
                    known.log = Some(hosted.log);
                    let before = self.logs.insert(hosted.log, hosted.name);
                    assert!(before.is_none(), "{at}: log {} was {before:?}'s", hosted.log);
                }
            }
        }
        assert!(process.image.offset >= self.metadata_offset || !process.serving);
        self.metadata_offset = self.metadata_offset.max(process.image.offset);
        for topic in process.image.topics() {
            for index in 0..topic.partitions.len() as i32 {
                let is_there = process.partitions.contains_key(&(topic.id, index));
                assert!(is_there, "{}-{index} is shown and not served", topic.name);
            }
        }
    }

    /// Reads everything that is served and compares it with what was promised.
    pub fn look(&mut self, node: &mut Node) {
        let mut image = crate::cluster::Image::default();
        node.quorum.iter().flatten().for_each(|record| image.apply(record));
        let settings =
            Settings { config: Default::default(), fresh_cluster_id: "cluster".to_owned() };
        assert!(Controller::new(image, settings) == node.process.controller, "controller: replay");
        let process = &mut node.process;
        for hosted in process.partitions.values_mut() {
            if hosted.view().leading && !hosted.is_deleting() {
                self.read(hosted);
            }
            if hosted.topic == CONSUMER_OFFSETS
                && let Some(shard) = &process.shard
            {
                shard.check(hosted, &node.config);
            }
        }
    }

    fn read(&mut self, hosted: &mut Hosted) {
        let at = format!("{}-{}", hosted.topic, hosted.name.1);
        let view = hosted.view();
        let batches = all(hosted);
        let epochs = hosted.replica.epochs();
        let ascending = epochs.windows(2).all(|two| two[0].0 < two[1].0 && two[0].1 <= two[1].1);
        assert!(ascending, "{at}: epochs {epochs:?}");
        let known = self.partitions.entry(hosted.name).or_default();
        let mut next = view.log_start;
        let mut found: BTreeMap<Offset, u64> = BTreeMap::new();
        let mut seen = BTreeSet::new();
        let mut sequences: BTreeMap<i64, i32> = BTreeMap::new();
        for batch in &batches {
            let header = batch.header;
            let base = header.base_offset;
            // The first may span the log start.
            assert_eq!(base.max(view.log_start), next, "{at}: a gap or an overlap");
            next = header.last_offset() + 1;
            assert!(next <= view.high_watermark, "{at}: {base} is above the high watermark");
            let epoch = hosted.handle.epoch_at(base.max(view.log_start));
            assert_eq!(header.partition_leader_epoch, epoch, "{at}: the epoch of {base}");
            if hosted.topic == CONSUMER_OFFSETS {
                continue;
            }
            let attempt = attempt_of(batch);
            let sent = self.attempts.get(&attempt).expect("nobody sent it");
            assert_eq!(sent.to, hosted.name, "{at}: {attempt} was sent to another partition");
            let same = sent.bytes[HEAD_BYTES..] == batch.bytes[HEAD_BYTES..];
            assert!(same, "{at}: the bytes of {attempt} at {base} are not what was sent");
            assert!(seen.insert(attempt), "{at}: {attempt} is there twice, again at {base}");
            found.insert(base, attempt);
            if header.has_producer_id() {
                let first = if view.log_start > 0 { header.base_sequence } else { 0 };
                let expected = sequences.entry(header.producer_id).or_insert(first);
                assert_eq!(header.base_sequence, *expected, "{at}: sequence of {attempt}");
                *expected += header.records_count;
            }
        }
        assert_eq!(next, view.high_watermark, "{at}: not all below the high watermark is there");
        known.acknowledged.retain(|offset, _| *offset >= view.log_start);
        for (offset, attempt) in &known.acknowledged {
            assert_eq!(
                found.get(offset),
                Some(attempt),
                "{at}: {attempt} was acknowledged at {offset}; high watermark {}",
                view.high_watermark
            );
        }
    }

    /// What holds when nothing is in flight: nothing of what is gone is left behind.
    pub fn settled(&mut self, node: &mut Node) {
        self.look(node);
        let served: BTreeSet<LogId> = node.process.partitions.values().map(|it| it.log).collect();
        let stored: BTreeSet<LogId> = node.mem.logs().unwrap().into_iter().collect();
        assert_eq!(stored, served, "logs that are stored, and those that are served");
        for hosted in node.process.partitions.values() {
            let at = format!("{}-{}", hosted.topic, hosted.name.1);
            let end = hosted.view().log_end;
            let from = hosted.view().log_start;
            // What is deleted tells nothing any more.
            let snapshot = hosted.last_snapshot.clone().filter(|_| from > 0);
            let again =
                crate::partition::actor::replay(&*node.mem, hosted.log, snapshot, from, end);
            let again = again.unwrap();
            assert_eq!(hosted.replica.producers(), &again, "{at}: producers");
            let leads = hosted.view().leading;
            assert!(!leads || hosted.view().high_watermark == end, "{at}: {:?}", hosted.view());
        }
    }
}

/// Every batch that a consumer can read.
fn all(hosted: &Hosted) -> Vec<Batch> {
    let mut found = Vec::new();
    let mut from = hosted.view().log_start;
    loop {
        let (batches, next) = fetch(hosted, from, 10_000).expect("it is readable");
        found.extend(batches);
        if next == from {
            return found;
        }
        from = next;
    }
}

/// One Fetch of a consumer: batches, and where to go on.
pub fn fetch(
    hosted: &Hosted,
    from: Offset,
    max_bytes: usize,
) -> Result<(Vec<Batch>, Offset), crate::wire::ErrorCode> {
    let read = hosted
        .handle
        .read(from, Isolation::ReadUncommitted, max_bytes, true, max_bytes)
        .now_or_never()
        .expect("memory never waits")?;
    let bytes = crate::broker::shard::gather(read.slices).unwrap();
    Ok((batch::batches(bytes).collect(), read.next_offset))
}

/// Which attempt a batch is: its first record's key says it.
pub fn attempt_of(batch: &Batch) -> u64 {
    let payload = batch.payload();
    let record = crate::wire::records(&batch.header, &payload).next().unwrap().unwrap();
    u64::from_be_bytes(record.key.unwrap().try_into().unwrap())
}
