//! The image by hand, and any history a controller could write.

use super::*;
use crate::ids::LeaderEpoch;
use proptest::prelude::*;
use uuid::Uuid;

fn id(n: u128) -> TopicId {
    TopicId(Uuid::from_u128(n))
}

fn state(leader: i32, epoch: i32) -> PartitionState {
    PartitionState {
        replicas: vec![NodeId(leader)],
        isr: vec![NodeId(leader)],
        leader: Some(NodeId(leader)),
        leader_epoch: LeaderEpoch(epoch),
        partition_epoch: epoch,
    }
}

fn topic(name: &str, topic_id: TopicId, partitions: i32) -> Vec<Record> {
    let mut records = vec![Record::Topic { name: name.to_owned(), topic_id }];
    records.extend((0..partitions).map(|partition| Record::Partition {
        topic_id,
        partition,
        state: state(1, 0),
    }));
    records
}

fn config(topic: &str, name: &str, value: Option<&str>) -> Record {
    let value = value.map(str::to_owned);
    Record::Config { resource: Resource::Topic(topic.to_owned()), name: name.to_owned(), value }
}

fn image(records: impl IntoIterator<Item = Record>) -> Image {
    let mut image = Image::default();
    records.into_iter().for_each(|record| image.apply(&record));
    image
}

#[test]
fn a_topic_comes_changes_and_goes_with_everything_of_it() {
    let mut image = image(topic("a.b", id(1), 2));
    image.apply(&config("a.b", "flush.ms", Some("7")));
    assert_eq!(image.offset, 4);
    assert_eq!(image.topic("a.b").unwrap().partitions.len(), 2);
    assert_eq!(image.topic_by_id(id(1)), image.topic("a.b"));
    assert_eq!((image.colliding("a_b"), image.colliding("a-b")), (Some("a.b"), None));

    image.apply(&Record::Partition { topic_id: id(1), partition: 1, state: state(1, 5) });
    assert_eq!(image.topic("a.b").unwrap().partitions[1].leader_epoch, LeaderEpoch(5));

    image.apply(&Record::RemoveTopic { topic_id: id(1) });
    assert_eq!(image.topic_by_id(id(1)), None);
    assert_eq!((image.topic("a.b"), image.colliding("a_b")), (None, None));
    assert!(image.configs(&Resource::Topic("a.b".to_owned())).is_empty());
}

#[test]
fn a_clone_keeps_what_it_saw() {
    let old = image(topic("a", id(1), 1));
    let mut new = old.clone();
    new.apply(&Record::Partition { topic_id: id(1), partition: 0, state: state(2, 1) });
    new.apply(&config("a", "flush.ms", Some("7")));
    assert_eq!(old, image(topic("a", id(1), 1)));
    assert_eq!(new.topic("a").unwrap().partitions[0], state(2, 1));
}

#[test]
fn changes_name_what_differs() {
    let mut old = image([topic("gone", id(1), 1), topic("grown", id(2), 2)].concat());
    old.apply(&config("gone", "flush.ms", Some("1")));
    for record in [topic("again", id(3), 1), topic("same", id(4), 1)].concat() {
        old.apply(&record);
    }
    let mut new = old.clone();
    assert_eq!(new.changes_since(&old), Changes::default());

    new.apply(&Record::RemoveTopic { topic_id: id(1) });
    new.apply(&Record::Partition { topic_id: id(2), partition: 1, state: state(1, 9) });
    new.apply(&Record::Partition { topic_id: id(2), partition: 2, state: state(1, 0) });
    new.apply(&Record::RemoveTopic { topic_id: id(3) });
    topic("again", id(5), 1).iter().for_each(|record| new.apply(record));
    new.apply(&config("same", "flush.ms", Some("1")));
    let changes = new.changes_since(&old);
    let names = |topics: &[Arc<Topic>]| topics.iter().map(|t| t.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&changes.added), ["again"]);
    assert_eq!(names(&changes.removed), ["gone", "again"]);
    assert_eq!(changes.changed, [(new.topic("grown").unwrap().clone(), vec![1, 2])]);
    let configs = ["same", "gone"].map(|name| Resource::Topic(name.to_owned()));
    assert_eq!((changes.configs.as_slice(), changes.brokers), (&configs[..], false));
}

/// Any sequence of records that a controller could have written.
fn histories() -> impl Strategy<Value = Vec<Record>> {
    let names = prop::sample::select(vec!["a", "b.c", "d_e", "__consumer_offsets"]);
    let one = (0..7u8, names, 0..4u128, 0..3i32, any::<Option<String>>());
    prop::collection::vec(one, 0..60).prop_map(|choices| {
        let mut live = Image::default();
        let mut history = Vec::new();
        for (kind, name, n, epoch, text) in choices {
            let known = live.topic(name).map(|t| (t.id, t.partitions.len() as i32));
            let record = match (kind, known) {
                (0, None) if live.topic_by_id(id(n)).is_none() => {
                    Record::Topic { name: name.to_owned(), topic_id: id(n) }
                }
                (1, Some((topic_id, partition))) => {
                    Record::Partition { topic_id, partition, state: state(n as i32, epoch) }
                }
                (2, Some((topic_id, count))) if count > 0 => {
                    Record::Partition { topic_id, partition: 0, state: state(n as i32, epoch) }
                }
                (3, Some((topic_id, _))) => Record::RemoveTopic { topic_id },
                (4, Some(_)) => config(name, "segment.bytes", text.as_deref()),
                (5, _) => Record::ProducerIds { next_producer_id: n as i64 * 1000 },
                (6, _) => Record::Broker {
                    node_id: NodeId(n as i32),
                    broker_epoch: epoch as i64,
                    incarnation_id: Uuid::from_u128(n),
                    rack: text,
                    listeners: BTreeMap::from([("PLAINTEXT".to_owned(), (name.to_owned(), 9092))]),
                    fenced: epoch == 0,
                },
                _ => Record::Cluster { cluster_id: name.to_owned() },
            };
            live.apply(&record);
            history.push(record);
        }
        history
    })
}

proptest! {
    #[test]
    fn entries_and_snapshots_round_trip(history in histories()) {
        let text = encode(&history);
        prop_assert_eq!(&decode(&text).unwrap(), &history);
        let live = image(history);
        prop_assert_eq!(Image::from_snapshot(&live.snapshot()).unwrap(), live);
    }
}

#[test]
fn bad_text_is_an_error() {
    assert_eq!(
        decode("{\"type\":\"ProducerIds\",\"next_producer_id\":1}\n{}\n").unwrap_err().line,
        2
    );
    for text in ["", "x\n", "3\n{"] {
        assert!(Image::from_snapshot(text).is_err(), "{text:?}");
    }
}

/// Creating topics one after the other took a comparison of all topics for each.
#[test]
fn from_one_entry_to_the_next_only_what_it_touched_is_looked_at() {
    let mut old = image(topic("a", id(1), 1));
    let mut new = old.clone();
    new.apply_entry(&topic("b", id(2), 1));
    assert_eq!(new.changes_since(&old).added, [new.topic("b").unwrap().clone()]);
    // An image that cannot be: were all topics compared, `a` would be removed.
    old.topics.insert_mut("c".to_owned(), old.topic("a").unwrap().clone());
    assert_eq!(new.changes_since(&old).removed, []);
    assert_eq!(image([]).changes_since(&old).removed.len(), 2);
    assert_eq!(image(topic("a", id(1), 1)).changes_since(&image([])).added.len(), 1);
}

/// `changes` without what depends on the order of looking.
fn sorted(mut changes: Changes) -> Changes {
    let by_name = |topics: &mut Vec<Arc<Topic>>| topics.sort_by(|a, b| a.name.cmp(&b.name));
    by_name(&mut changes.added);
    by_name(&mut changes.removed);
    changes.changed.sort_by(|a, b| a.0.name.cmp(&b.0.name));
    changes.configs.sort();
    changes
}

proptest! {
    #[test]
    fn what_an_entry_touched_is_what_differs(history in histories(), at in 0usize..100) {
        let (before, entry) = history.split_at(at.min(history.len()));
        let old = image(before.to_vec());
        let mut new = old.clone();
        new.apply_entry(entry);
        let mut compared = new.clone();
        compared.last.since = None;
        prop_assert_eq!(sorted(new.changes_since(&old)), sorted(compared.changes_since(&old)));
    }
}
