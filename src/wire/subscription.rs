//! What the group coordinator reads of a classic consumer's blobs: the topics it subscribes to.
//!
//! The blobs belong to the clients (`ConsumerProtocolSubscription`): an int16 version, never flexible, then an array of
//! topic names, then fields the coordinator does not need. Everything else in them stays opaque.

use bytes::Buf;

/// The topics of a subscription; None when it is not one (other protocols' metadata, spoilt bytes). Versions that do not
/// exist yet are read like the highest known: fields are only ever added (`ConsumerProtocol`).
pub fn subscribed_topics(mut metadata: &[u8]) -> Option<Vec<String>> {
    let version = metadata.try_get_i16().ok()?;
    let count = usize::try_from(metadata.try_get_i32().ok()?).ok()?;
    // A name takes at least its length's two bytes.
    if version < 0 || count > metadata.len() / 2 {
        return None;
    }
    let mut topics = Vec::with_capacity(count);
    for _ in 0..count {
        let len = usize::try_from(metadata.try_get_i16().ok()?).ok()?;
        let (name, left) = metadata.split_at_checked(len)?;
        topics.push(std::str::from_utf8(name).ok()?.to_owned());
        metadata = left;
    }
    Some(topics)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::{BufMut, Bytes, BytesMut};
    use kafka_protocol::{
        messages::{ConsumerProtocolSubscription, TopicName, consumer_protocol_subscription::*},
        protocol::{Encodable, StrBytes},
    };

    fn subscription(version: i16, topics: &[&'static str]) -> Vec<u8> {
        let mut message = ConsumerProtocolSubscription::default()
            .with_topics(topics.iter().map(|topic| StrBytes::from_static_str(topic)).collect())
            .with_user_data(Some(Bytes::from_static(b"opaque")));
        if version >= 1 {
            let owned = TopicPartition::default()
                .with_topic(TopicName(StrBytes::from_static_str("a")))
                .with_partitions(vec![0, 1]);
            message = message.with_owned_partitions(vec![owned]);
        }
        let mut buf = BytesMut::new();
        buf.put_i16(version);
        message.encode(&mut buf, version).unwrap();
        buf.to_vec()
    }

    #[test]
    fn topics_are_found_at_every_version() {
        for version in 0..=3 {
            let metadata = subscription(version, &["a", "b.c"]);
            assert_eq!(subscribed_topics(&metadata), Some(vec!["a".into(), "b.c".into()]));
        }
        let mut future = subscription(3, &["a"]);
        future[1] = 9;
        assert_eq!(subscribed_topics(&future), Some(vec!["a".into()]));
        assert_eq!(subscribed_topics(&subscription(0, &[])), Some(vec![]));
    }

    #[test]
    fn spoilt_metadata_is_no_subscription() {
        let metadata = subscription(0, &["topic"]);
        for len in 0..13 {
            assert_eq!(subscribed_topics(&metadata[..len]), None, "{len}");
        }
        assert_eq!(subscribed_topics(&[0, 0, 0x7f, 0xff, 0xff, 0xff, 0, 0]), None);
        assert_eq!(subscribed_topics(&[0xff, 0xff, 0, 0, 0, 0]), None);
        assert_eq!(subscribed_topics(b"range"), None);
    }
}
