//! From the image the cluster agreed on to what runs on this node: the only place that starts and stops partitions.
//!
//! It works from (old image, new image), never from single records. The image is published to handlers only after what it
//! promises is there: a topic that Metadata shows has its leader here, and `__consumer_offsets` its coordinators.

use super::{logs, shard};
use crate::{
    cluster::{
        Image, Topic,
        image::Changes,
        names::CONSUMER_OFFSETS,
        record::{PartitionState, Resource},
    },
    config::{
        Config,
        topic::{self, LogConfig},
    },
    handlers::Ctx,
    ids::{LogId, NodeId},
    machine::clock::Clock,
    partition::{self, Assigned, SpawnParams},
    storage::{LogStore, StorageError},
};
use futures_util::{StreamExt, TryStreamExt, stream};
use std::{collections::HashMap, sync::Arc};
use tokio::{
    sync::{mpsc, oneshot, watch},
    task::JoinHandle,
};
use tracing::{info, warn};

/// Partitions opened at a time: enough to fill group commits, few enough to bound memory.
const OPENING_MAX: usize = 64;

pub struct Reconciler {
    pub ctx: Arc<Ctx>,
    pub store: Arc<dyn LogStore>,
    pub node: NodeId,
    pub clock: Clock,
    pub inspection: partition::Inspection,
    /// Which log holds which partition.
    pub logs: HashMap<logs::Name, LogId>,
    /// What has been carried out: the offset of the image handlers see.
    pub applied: watch::Sender<i64>,
    /// Where the end of an actor is reported; nothing ends silently.
    pub actors: mpsc::UnboundedSender<(String, JoinHandle<Result<(), String>>)>,
}

impl Reconciler {
    /// Carries out one image.
    pub async fn apply(&mut self, new: Arc<Image>) -> Result<(), StorageError> {
        let old = self.ctx.image.load_full();
        if new.cluster_id() != old.cluster_id() {
            let (store, new) = (self.store.clone(), new.clone());
            blocking(move || store.belongs_to(new.cluster_id())).await?;
        }
        let changes = new.changes_since(&old);
        let (before, broker) = self.broker_config(&new, &changes);
        self.retire_shards(&changes);
        self.start_partitions(&broker, &new, &changes).await?;
        self.assign(&changes).await;
        self.configure(&before, &broker, &new, &changes);
        self.forget_offsets(&changes);
        self.ctx.image.store(new.clone());
        if !Arc::ptr_eq(&before, &broker) {
            self.ctx.in_effect.send_replace(broker);
        }
        self.stop_partitions(&changes).await?;
        self.applied.send_replace(new.offset);
        Ok(())
    }

    /// What was in effect on this broker, and what is with `image`: the same where nothing has changed.
    fn broker_config(&self, image: &Image, changes: &Changes) -> (Arc<Config>, Arc<Config>) {
        let before = self.ctx.in_effect.borrow().clone();
        let of_this_broker = |it: &Resource| match it {
            Resource::Broker(id) => id.is_none_or(|id| id == self.node),
            _ => false,
        };
        let now = match changes.configs.iter().any(of_this_broker) {
            true => Arc::new(image.config_of(self.node, &self.ctx.config)),
            false => before.clone(),
        };
        (before, now)
    }

    async fn start_partitions(
        &mut self,
        broker: &Config,
        image: &Arc<Image>,
        changes: &Changes,
    ) -> Result<(), StorageError> {
        let mut wanted: Vec<(Arc<Topic>, i32, LogConfig)> = Vec::new();
        for topic in &changes.added {
            if topic.name == CONSUMER_OFFSETS {
                self.ctx.groups.set_partitions(topic.partitions.len());
            }
            let config = log_config(broker, image, &topic.name);
            let all = 0..topic.partitions.len() as i32;
            wanted.extend(all.map(|p| (topic.clone(), p, config.clone())));
        }
        for (topic, partitions) in &changes.changed {
            let config = log_config(broker, image, &topic.name);
            wanted.extend(partitions.iter().map(|p| (topic.clone(), *p, config.clone())));
        }
        wanted.retain(|(topic, p, _)| {
            topic.partitions[*p as usize].replicas.contains(&self.node)
                && self.ctx.partitions.get(topic.id, *p).is_none()
        });
        let (this, known) = (&*self, &self.logs);
        let opened: Vec<(logs::Name, LogId, partition::Handle)> = stream::iter(wanted)
            .map(|(topic, p, config)| async move {
                let name = (topic.id, p);
                let known = known.get(&name).copied();
                let (log, handle) = this.open_partition(broker, &topic, p, config, known).await?;
                Ok::<_, StorageError>((name, log, handle))
            })
            .buffer_unordered(OPENING_MAX)
            .try_collect()
            .await?;
        for (name, log, handle) in opened {
            self.logs.insert(name, log);
            if handle.topic_name() == CONSUMER_OFFSETS {
                self.start_shard(&handle, image).await;
            }
            self.ctx.partitions.insert(handle);
        }
        Ok(())
    }

    async fn open_partition(
        &self,
        broker: &Config,
        topic: &Arc<Topic>,
        index: i32,
        config: LogConfig,
        known: Option<LogId>,
    ) -> Result<(LogId, partition::Handle), StorageError> {
        let log = match known {
            Some(log) => log,
            None => {
                let (store, name) = (self.store.clone(), (topic.id, index));
                let options = partition::log_options(&config);
                let (log, named) =
                    blocking(move || logs::create(store.as_ref(), name, options)).await?;
                named.await.unwrap_or(Err(StorageError::Closed))?;
                log
            }
        };
        let params = SpawnParams {
            store: self.store.clone(),
            log,
            topic_id: topic.id,
            topic_name: topic.name.clone(),
            index,
            node: self.node,
            config,
            assigned: self.assigned(&topic.partitions[index as usize]),
            producer_id_check_ms: broker.producer_id_expiration_check_interval_ms.into(),
            clock: self.clock,
            inspection: self.inspection.clone(),
        };
        let (handle, task) = partition::spawn(params).await?;
        self.watch(format!("partition {}-{index}", topic.name), task);
        Ok((log, handle))
    }

    fn assigned(&self, state: &PartitionState) -> Assigned {
        Assigned {
            leader_epoch: state.leader_epoch,
            leading: state.leader == Some(self.node),
            isr: state.isr.clone(),
            replicas: state.replicas.clone(),
        }
    }

    /// Returns when the coordinator is loaded, or has said why it cannot be.
    async fn start_shard(&self, partition: &partition::Handle, image: &Arc<Image>) {
        let (ready, loaded) = oneshot::channel();
        let (groups, config) = (self.ctx.groups.clone(), self.ctx.config.clone());
        let topics = shard::Topics { first: image.clone(), published: self.ctx.image.clone() };
        let task = shard::run(partition.clone(), groups, config, topics, self.clock, ready);
        self.watch(format!("group coordinator {}", partition.index()), tokio::spawn(task));
        let _ = loaded.await;
    }

    /// First of all, so that a topic deleted and created again within one image keeps its new coordinators.
    fn retire_shards(&self, changes: &Changes) {
        for topic in changes.removed.iter().filter(|topic| topic.name == CONSUMER_OFFSETS) {
            for index in 0..topic.partitions.len() {
                self.ctx.groups.set_shard(index, None);
            }
        }
    }

    /// Tells partitions that run already what the image says of leader and in-sync set.
    async fn assign(&self, changes: &Changes) {
        for (topic, partitions) in &changes.changed {
            for p in partitions {
                if let Some(partition) = self.ctx.partitions.get(topic.id, *p) {
                    partition.assign(self.assigned(&topic.partitions[*p as usize])).await;
                }
            }
        }
    }

    /// Tells partitions that run already what has changed of their topic's settings, or of the broker's behind them.
    fn configure(&self, before: &Config, broker: &Config, image: &Image, changes: &Changes) {
        let topics: Vec<&Arc<Topic>> = if topic::defaults_differ(before, broker) {
            image.topics().collect()
        } else {
            let changed = changes.configs.iter().filter_map(|it| match it {
                Resource::Topic(name) => image.topic(name),
                _ => None,
            });
            changed.collect()
        };
        for topic in topics {
            let config = log_config(broker, image, &topic.name);
            for p in 0..topic.partitions.len() as i32 {
                if let Some(partition) = self.ctx.partitions.get(topic.id, p) {
                    partition.configure(config.clone());
                    if topic.name == CONSUMER_OFFSETS {
                        let max = partition.max_message_bytes();
                        self.ctx.groups.message_max_bytes(p as usize, max);
                    }
                }
            }
        }
    }

    /// Before the image is published: whoever knows a new topic of the same name can commit for it.
    fn forget_offsets(&self, changes: &Changes) {
        let removed = changes.removed.iter().map(|topic| (topic.name.clone(), topic.id));
        let removed: Vec<_> = removed.collect();
        if !removed.is_empty() {
            self.ctx.groups.topics_deleted(&removed);
        }
    }

    async fn stop_partitions(&mut self, changes: &Changes) -> Result<(), StorageError> {
        for topic in &changes.removed {
            info!(topic = %topic.name, id = %topic.id, "deleting a topic");
            for p in 0..topic.partitions.len() as i32 {
                let name = (topic.id, p);
                if let Some(partition) = self.ctx.partitions.remove(topic.id, p) {
                    partition.stop().await;
                }
                if let Some(log) = self.logs.remove(&name) {
                    logs::forget(self.store.as_ref(), name)
                        .await
                        .unwrap_or(Err(StorageError::Closed))?;
                    self.store.delete(log).await.unwrap_or(Err(StorageError::Closed))?;
                }
            }
        }
        Ok(())
    }

    /// Has the broker told when `task` ends.
    pub fn watch(&self, what: String, task: JoinHandle<Result<(), String>>) {
        if self.actors.send((what, task)).is_err() {
            warn!("an actor started while the broker was stopping");
        }
    }

    /// Deletes logs of partitions that are gone and logs that no partition names: what a crash left between two steps. With
    /// `--accept-data-loss` the latter stay, because what named them may be what was lost. Call once the first image is
    /// carried out.
    pub async fn delete_orphans(&mut self) -> Result<(), StorageError> {
        let image = self.ctx.image.load_full();
        for name in logs::strays(&self.logs, |id| image.topic_by_id(id).is_some()) {
            warn!(id = %name.0, partition = name.1, "forgetting the log of a topic that was deleted");
            logs::forget(self.store.as_ref(), name).await.unwrap_or(Err(StorageError::Closed))?;
            self.logs.remove(&name);
        }
        let (store, named) = (self.store.clone(), self.logs.clone());
        for log in blocking(move || logs::orphans(store.as_ref(), &named)).await? {
            if self.ctx.config.accept_data_loss {
                warn!(%log, "a log belongs to no partition; a start without --accept-data-loss deletes it");
                continue;
            }
            warn!(%log, "deleting a log that belongs to no partition");
            self.store.delete(log).await.unwrap_or(Err(StorageError::Closed))?;
        }
        Ok(())
    }
}

fn log_config(broker: &Config, image: &Image, topic: &str) -> LogConfig {
    let overrides = image.configs(&Resource::Topic(topic.to_owned()));
    if overrides.is_empty() {
        return broker.topic_defaults.clone();
    }
    LogConfig::resolve(broker, &overrides)
}

/// Runs what may touch the disk off the async threads.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StorageError> + Send + 'static,
) -> Result<T, StorageError> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|e| Err(StorageError::Io(e.to_string())))
}
