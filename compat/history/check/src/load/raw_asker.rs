//! A client of our own that asks again and again what the groups have committed: soon after a restart too, before their
//! members have committed anew.

use super::{Life, World};
use crate::{
    random::Random,
    raw::{CallError, Connection},
};
use judge::history::{Action, Committed, Isolation, Partition, Phase, Role};
use kafka_protocol::{
    messages::{
        GroupId, OffsetFetchRequest, OffsetFetchResponse, TopicName,
        offset_fetch_request::OffsetFetchRequestTopic,
    },
    protocol::StrBytes,
};
use std::{sync::Arc, time::Duration};

const PAUSE: Duration = Duration::from_millis(40);
/// v8 and later ask for several groups at once.
const OFFSET_FETCH_VERSIONS: [i16; 4] = [1, 3, 5, 7];

/// One life.
pub fn live(world: &Arc<World>, random: &mut Random, life: Life, group: &str) {
    let group = format!("{}-{group}", world.prefix);
    let isolation = Isolation::ReadCommitted;
    let role = Role::Consumer { group: Some(group.clone()), isolation };
    let process = world.recorder.process(role);
    let (version, request) = (random.pick(&OFFSET_FETCH_VERSIONS), request(world, &group));
    let unknown: Vec<Committed> =
        world.partitions().into_iter().map(|at| Committed(at, None)).collect();
    let action = |offsets| Action::Committed { group: group.clone(), offsets };
    let mut connection = None;
    while !life.is_over(world) {
        let op = process.invoke(action(unknown.clone()));
        match ask(world, &mut connection, version, &request) {
            Some(offsets) => process.complete(op, Phase::Ok, action(offsets)),
            None => process.complete(op, Phase::Unknown, action(unknown.clone())),
        }
        world.sleep(PAUSE);
    }
    process.happened(Action::Crash);
}

fn request(world: &World, group: &str) -> OffsetFetchRequest {
    let topic = |topic: &super::Topic| {
        OffsetFetchRequestTopic::default()
            .with_name(TopicName(StrBytes::from_string(topic.name.clone())))
            .with_partition_indexes(topic.partitions().map(|at| at.index as i32).collect())
    };
    OffsetFetchRequest::default()
        .with_group_id(GroupId(StrBytes::from_string(group.to_owned())))
        .with_topics(Some(world.topics.iter().map(topic).collect()))
}

/// None: no answer, or an error.
fn ask(
    world: &World,
    connection: &mut Option<Connection>,
    version: i16,
    request: &OffsetFetchRequest,
) -> Option<Vec<Committed>> {
    let mut open = match connection.take() {
        Some(open) => open,
        None => Connection::open(&world.bootstrap).ok()?,
    };
    match open.call(version, request) {
        Ok(answer) => {
            *connection = Some(open);
            committed(answer)
        }
        Err(CallError::Io(error)) => {
            world.recorder.error(format!("raw asker: {}", error.kind()));
            None
        }
        Err(error @ CallError::Malformed(_)) => {
            world.recorder.complain(format!("raw asker: {error}"));
            None
        }
    }
}

fn committed(answer: OffsetFetchResponse) -> Option<Vec<Committed>> {
    if answer.error_code != 0 {
        return None;
    }
    let mut all = Vec::new();
    for topic in answer.topics {
        for partition in topic.partitions {
            if partition.error_code != 0 {
                return None;
            }
            let at = Partition::new(topic.name.as_str(), partition.partition_index as u32);
            let offset = Some(partition.committed_offset).filter(|offset| *offset >= 0);
            all.push(Committed(at, offset));
        }
    }
    Some(all)
}
