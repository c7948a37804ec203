//! What is set while a broker runs reaches the partitions that run.

use super::{stopped::start, *};
use crate::{
    cluster::{names::CONSUMER_OFFSETS, record::Resource},
    controller::Change,
    handlers::offset_commit,
    wire::{
        StrBytes,
        messages::{
            GroupId, OffsetCommitRequest, TopicName,
            offset_commit_request::{OffsetCommitRequestPartition, OffsetCommitRequestTopic},
        },
    },
};
use futures_util::poll;
use std::pin::pin;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

const TOO_LARGE: i16 = 10;
const UNKNOWN_SERVER_ERROR: i16 = -1;

impl Broker {
    /// Sets one setting, or nothing.
    async fn set(&self, resource: Resource, setting: Option<(&str, &str)>) {
        let setting = setting.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let change = Change::All(setting.into_iter().collect());
        let results = self.ctx.controller.alter_configs(vec![(resource, change)], false).await;
        assert_eq!(results, Ok(vec![Ok(())]));
    }
}

#[tokio::test]
async fn partitions_follow_their_topic_their_broker_and_the_cluster() {
    let store = Arc::new(Mem::with_faults());
    let broker = start(store.clone()).await;
    assert_eq!((broker.create("t").await, broker.produce("t").await), (0, 0));
    let (small, large) = (Some(("message.max.bytes", "10")), Some(("message.max.bytes", "1000")));
    let (cluster, own) = (|| Resource::Broker(None), || Resource::Broker(Some(NodeId(1))));
    broker.set(cluster(), small).await;
    assert_eq!(broker.produce("t").await, TOO_LARGE);
    broker.set(own(), large).await;
    assert_eq!(broker.produce("t").await, 0);
    broker.set(Resource::Topic("t".into()), Some(("max.message.bytes", "9"))).await;
    assert_eq!(broker.produce("t").await, TOO_LARGE);
    broker.set(Resource::Topic("t".into()), None).await;
    assert_eq!(broker.produce("t").await, 0);
    broker.set(own(), None).await;
    assert_eq!((broker.create("u").await, broker.produce("u").await), (0, TOO_LARGE));

    broker.shutdown().await.unwrap();
    let again = start(Arc::new(store.crash(&mut |n| n))).await;
    assert_eq!(again.produce("t").await, TOO_LARGE);
    again.set(Resource::Broker(Some(NodeId(2))), large).await;
    assert_eq!(again.produce("t").await, TOO_LARGE, "another broker's");
    again.set(cluster(), None).await;
    assert_eq!((again.produce("t").await, again.produce("u").await), (0, 0));
    again.shutdown().await.unwrap();
}

/// It used to be made anew for each topic of a request.
#[tokio::test]
async fn what_is_in_effect_is_made_once_until_it_changes() {
    let broker = start(Arc::new(Mem::new())).await;
    let now = || broker.ctx.in_effect.borrow().clone();
    let first = now();
    assert_eq!(broker.create("t").await, 0);
    broker.set(Resource::Topic("t".into()), Some(("flush.ms", "9"))).await;
    broker.set(Resource::Broker(Some(NodeId(2))), Some(("max.connections", "9"))).await;
    assert!(Arc::ptr_eq(&first, &now()));
    broker.set(Resource::Broker(None), Some(("max.connections", "9"))).await;
    assert_eq!((first.max_connections, now().max_connections), (i32::MAX, 9));
    broker.shutdown().await.unwrap();
}

/// An ApiVersions v0, answered.
async fn asked(client: &mut TcpStream) {
    client.write_all(&[0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 7, 0xff, 0xff]).await.unwrap();
    let length = client.read_i32().await.unwrap();
    client.read_exact(&mut vec![0; length as usize]).await.unwrap();
}

#[tokio::test]
async fn listeners_follow_max_connections() {
    let broker = start(Arc::new(Mem::new())).await;
    let mut first = TcpStream::connect(broker.addr()).await.unwrap();
    asked(&mut first).await;
    broker.set(Resource::Broker(None), Some(("max.connections", "1"))).await;
    let mut second = TcpStream::connect(broker.addr()).await.unwrap();
    {
        let mut waits = pin!(asked(&mut second));
        assert!(poll!(&mut waits).is_pending());
        asked(&mut first).await;
        assert!(poll!(&mut waits).is_pending(), "no connection is free");
        broker.set(Resource::Broker(None), None).await;
        waits.await;
    }
    broker.shutdown().await.unwrap();
}

/// What a coordinator writes together used to be bounded by what its broker was started with.
#[tokio::test]
async fn coordinators_follow_their_topic() {
    let broker = start(Arc::new(Mem::new())).await;
    assert_eq!(broker.create("t").await, 0);
    broker.ctx.controller.create_internal_topic(CONSUMER_OFFSETS).await.unwrap();
    let commit = || async {
        let metadata = StrBytes::from_string("m".repeat(3000));
        let partition =
            OffsetCommitRequestPartition::default().with_committed_metadata(Some(metadata));
        let topic = OffsetCommitRequestTopic::default()
            .with_name(TopicName(StrBytes::from_static_str("t")))
            .with_partitions(vec![partition]);
        let request = OffsetCommitRequest::default()
            .with_group_id(GroupId(StrBytes::from_static_str("g")))
            .with_generation_id_or_member_epoch(-1)
            .with_topics(vec![topic]);
        let mut session = crate::session::Session::new(([127, 0, 0, 1], 1).into(), 0);
        let answer = offset_commit::handle(&broker.ctx, &mut session, 8, request).await;
        answer.topics[0].partitions[0].error_code
    };
    assert_eq!(commit().await, 0);
    let offsets = || Resource::Topic(CONSUMER_OFFSETS.into());
    broker.set(offsets(), Some(("max.message.bytes", "2000"))).await;
    assert_eq!(commit().await, UNKNOWN_SERVER_ERROR);
    broker.set(offsets(), None).await;
    assert_eq!(commit().await, 0);
    broker.shutdown().await.unwrap();
}
