//! DescribeLogDirs: v1-4.
//!
//! Versions: 2 flexible · 3 top-level error · 4 bytes of the volume (KIP-827). A node has one log directory, and no replica is
//! ever on its way to another. Kafka's answers come in no promised order.

use super::Ctx;
use crate::{
    partition::Handle,
    session::Session,
    wire::{
        ErrorCode,
        api::Api,
        messages::{
            DescribeLogDirsRequest, DescribeLogDirsResponse, TopicName,
            describe_log_dirs_response::{
                DescribeLogDirsPartition, DescribeLogDirsResult, DescribeLogDirsTopic,
            },
        },
        text,
    },
};
use std::collections::BTreeMap;

pub const API: Api = Api::new(35, "DescribeLogDirs", 1, 4, 2);

pub async fn handle(
    ctx: &Ctx,
    _session: &mut Session,
    version: i16,
    request: DescribeLogDirsRequest,
) -> DescribeLogDirsResponse {
    let result = DescribeLogDirsResult::default().with_log_dir(text(ctx.log_dir.path()));
    let result = match ctx.log_dir.volume().await {
        Ok(volume) => {
            let result = result.with_topics(topics(wanted(ctx, request)));
            match volume.filter(|_| version >= 4) {
                Some(volume) => result
                    .with_total_bytes(i64::try_from(volume.total_bytes).unwrap_or(i64::MAX))
                    .with_usable_bytes(i64::try_from(volume.usable_bytes).unwrap_or(i64::MAX)),
                None => result,
            }
        }
        Err(_) => result.with_error_code(ErrorCode::KafkaStorageError.code()),
    };
    DescribeLogDirsResponse::default().with_results(vec![result])
}

/// The replicas here that are asked for, each once. What is not here is left out.
fn wanted(ctx: &Ctx, request: DescribeLogDirsRequest) -> BTreeMap<(TopicName, i32), Handle> {
    let of = |handle: Handle| ((TopicName(text(handle.topic_name())), handle.index()), handle);
    let Some(topics) = request.topics else {
        return ctx.partitions.all().into_iter().map(of).collect();
    };
    let image = ctx.image.load();
    let mut wanted = BTreeMap::new();
    for asked in topics {
        let Some(topic) = image.topic(&asked.topic) else { continue };
        let handles = asked.partitions.iter().filter_map(|it| ctx.partitions.get(topic.id, *it));
        wanted.extend(handles.map(of));
    }
    wanted
}

fn topics(wanted: BTreeMap<(TopicName, i32), Handle>) -> Vec<DescribeLogDirsTopic> {
    let mut topics: Vec<DescribeLogDirsTopic> = Vec::new();
    for ((name, index), handle) in wanted {
        let view = handle.view();
        let described = DescribeLogDirsPartition::default()
            .with_partition_index(index)
            .with_partition_size(i64::try_from(handle.size()).unwrap_or(i64::MAX))
            .with_offset_lag((view.high_watermark - view.log_end).max(0));
        match topics.last_mut() {
            Some(topic) if topic.name == name => topic.partitions.push(described),
            _ => topics.push(
                DescribeLogDirsTopic::default().with_name(name).with_partitions(vec![described]),
            ),
        }
    }
    topics
}
