//! A broker: storage, controller, partitions, coordinators and listeners put together. The only module that names all others.
//!
//! Start: open the store; let the controller replay its log; bind; register; carry out the image (partitions opened,
//! coordinators loaded); only then accept. So whoever can connect can be served. Stop is the reverse.
//!
//! When storage stops writing the broker goes on with what can be read: Fetch, ListOffsets, Metadata. Producers and whoever
//! changes metadata get KAFKA_STORAGE_ERROR; groups have no coordinator.
//!
//! There are no globals: several brokers live in one process. The library never ends the process: an actor that dies
//! poisons its broker, `failed` says why, and the caller decides.

pub(crate) mod logs;
mod reconcile;
pub(crate) mod shard;

use crate::{
    cluster::Image,
    config::Config,
    controller::{self, Registration},
    group,
    handlers::{Ctx, fetch},
    ids::{NodeId, fresh_uuid},
    machine::{clock::Clock, runner::JournalError},
    net, partition, session,
    storage::{LogStore, StorageError, mem::Mem},
};
use arc_swap::ArcSwap;
use futures_util::{StreamExt, stream::FuturesUnordered};
use reconcile::{Reconciler, blocking};
use std::{collections::BTreeMap, net::SocketAddr, sync::Arc, time::Duration};
use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
};
use tracing::{error, info};

/// How long connections may take to answer what is in flight when the broker stops.
const DRAIN: Duration = Duration::from_millis(200);
/// How long a fresh topic's change may take to be carried out before start is given up.
const START_MAX: Duration = Duration::from_secs(60);

/// Why a broker does not start. Each is one line for a person.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Bind(#[from] net::BindError),
    #[error("cannot open the data directory: {0}")]
    Open(String),
    #[error("storage failed: {0}")]
    Storage(#[from] StorageError),
    #[error(transparent)]
    Controller(#[from] controller::StartError),
    #[error("the broker cannot register: {0}")]
    Registration(String),
}

/// A running broker. Dropping it without `shutdown` leaves it running until the runtime ends.
pub struct Broker {
    addr: SocketAddr,
    advertised: (String, u16),
    ctx: Arc<Ctx>,
    store: Arc<dyn LogStore>,
    stop: watch::Sender<bool>,
    failed: watch::Receiver<Option<String>>,
    listeners: Vec<JoinHandle<()>>,
    reconciler: JoinHandle<()>,
    /// Ends when every actor has.
    supervisor: JoinHandle<()>,
}

impl Broker {
    /// Starts a broker that can serve everything when this returns.
    pub async fn start(config: Config) -> Result<Broker, StartError> {
        let store = open_store(&config).await?;
        Broker::start_with(config, store).await
    }

    /// Starts a broker on a store that other brokers of this process were started on before; whatever they still do there is
    /// refused from now on. `log.dirs` has no effect.
    #[cfg(any(test, feature = "faults"))]
    pub async fn start_on(
        config: Config,
        store: &crate::faults::Store,
    ) -> Result<Broker, StartError> {
        Broker::start_with(config, store.lease()).await
    }

    async fn start_with(config: Config, store: Arc<dyn LogStore>) -> Result<Broker, StartError> {
        let clock = Clock::start();
        #[cfg(any(test, feature = "faults"))]
        let clock = clock.with_offset(config.wall_clock_offset_ms.clone());
        let bound = config.listeners.iter().map(net::bind).collect::<Result<Vec<_>, _>>()?;
        let endpoints: Vec<(String, u16)> = bound
            .iter()
            .enumerate()
            .map(|(index, bound)| config.advertised(index, bound.addr().port()))
            .collect();
        let addr = bound.first().map(net::BoundListener::addr).expect("Config has a listener");
        let advertised = endpoints.first().cloned().expect("Config has a listener");
        let config = Arc::new(config);
        let node = NodeId(config.node_id);

        let (applied, applied_seen) = watch::channel(0);
        let controller::Started { handle: controller, mut images, task: controller_task } =
            controller::start(store.clone(), config.clone(), clock, applied_seen).await?;
        let first = images.borrow_and_update().clone();
        let (stop, stopping) = watch::channel(false);
        let ctx = Arc::new(Ctx {
            config: config.clone(),
            image: Arc::new(ArcSwap::from_pointee(Image::default())),
            in_effect: watch::Sender::new(config.clone()),
            partitions: Arc::new(partition::Registry::default()),
            log_dir: partition::LogDir::new(config.log_dir.as_deref(), store.clone()),
            groups: Arc::new(group::Coordinator::new(config.offsets_topic_num_partitions as usize)),
            controller,
            fetch_sessions: session::fetch::Cache::new(
                config.max_incremental_fetch_session_cache_slots as usize,
            ),
            fetch_memory: fetch::Memory::default(),
            clock,
            stopping: stopping.clone(),
        });
        let (actors, actors_seen) = mpsc::unbounded_channel();
        let (failure, failed) = watch::channel(None);
        let poison = Poison { failure, stop: stop.clone() };
        let supervisor = tokio::spawn(supervise(actors_seen, poison.clone()));

        let named = {
            let store = store.clone();
            blocking(move || logs::named(store.as_ref())).await?
        };
        let mut reconciler = Reconciler {
            ctx: ctx.clone(),
            store: store.clone(),
            node,
            clock,
            inspection: partition::Inspection::default(),
            logs: named,
            applied,
            actors,
        };
        watch_controller(controller_task, &reconciler);
        reconciler.apply(first).await?;
        reconciler.delete_orphans().await?;
        {
            let store = store.clone();
            blocking(move || store.recovered()).await?;
        }
        let reconciler = tokio::spawn({
            let mut stopping = stopping.clone();
            async move {
                loop {
                    tokio::select! {
                        _ = stopping.wait_for(|stop| *stop) => return,
                        changed = images.changed() => if changed.is_err() { return },
                    }
                    let image = images.borrow_and_update().clone();
                    match reconciler.apply(image).await {
                        Ok(()) => {}
                        Err(StorageError::Io(error)) => {
                            error!(%error, "a change of metadata cannot be carried out: no other will be");
                            return;
                        }
                        Err(error) => {
                            poison.fail(format!("cannot carry out a change of metadata: {error}"));
                            return;
                        }
                    }
                }
            }
        });

        let listeners: BTreeMap<String, (String, u16)> =
            config.listeners.iter().map(|listener| listener.name.clone()).zip(endpoints).collect();
        let registered = ctx.controller.register_broker(Registration {
            node_id: node,
            incarnation_id: fresh_uuid(),
            rack: config.broker_rack.clone(),
            listeners,
        });
        match tokio::time::timeout(START_MAX, registered).await {
            Ok(Ok(_)) => {}
            Ok(Err(code)) => return Err(StartError::Registration(code.to_string())),
            Err(_) => return Err(StartError::Registration("no answer in time".into())),
        }
        let listeners = bound
            .into_iter()
            .enumerate()
            .map(|(index, bound)| net::serve(bound, index, ctx.clone(), stopping.clone()))
            .collect::<Result<_, _>>()?;
        info!(%addr, node = node.0, "serving");
        Ok(Broker { addr, advertised, ctx, store, stop, failed, listeners, reconciler, supervisor })
    }

    /// Where the first listener is bound.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// What clients of the first listener are told.
    pub fn advertised(&self) -> (String, u16) {
        self.advertised.clone()
    }

    /// Resolves when the broker can serve no longer, with the reason.
    pub async fn failed(&self) -> String {
        let mut failed = self.failed.clone();
        match failed.wait_for(Option::is_some).await {
            Ok(reason) => reason.clone().unwrap_or_default(),
            Err(_) => "the broker's supervisor has ended".to_owned(),
        }
    }

    /// Answers what is in flight, keeps what a quick start needs, and closes. Groups stay as they are.
    pub async fn shutdown(self) -> Result<(), StorageError> {
        self.stop.send_replace(true);
        for listener in self.listeners {
            let _ = tokio::time::timeout(DRAIN, listener).await;
        }
        let _ = self.reconciler.await;
        self.ctx.groups.clear();
        let stopping: FuturesUnordered<_> = self
            .ctx
            .partitions
            .all()
            .into_iter()
            .map(|partition| async move {
                partition.stop().await;
            })
            .collect();
        stopping.collect::<Vec<()>>().await;
        // With its last handle the controller ends, and the metadata quorum under it.
        drop(self.ctx);
        let _ = tokio::time::timeout(DRAIN, self.supervisor).await;
        let store = self.store;
        blocking(move || store.close()).await
    }
}

/// The controller's end is as bad as an actor's, unless the store has stopped writing: what there is can be read on.
fn watch_controller(task: JoinHandle<Result<(), JournalError>>, reconciler: &Reconciler) {
    let ended = async move {
        match task.await {
            Ok(Err(JournalError::Failed(error))) => {
                error!(%error, "metadata cannot be changed any more");
                Ok(())
            }
            Ok(ended) => ended.map_err(|error| error.to_string()),
            Err(panic) => Err(panic.to_string()),
        }
    };
    reconciler.watch("controller".to_owned(), tokio::spawn(ended));
}

/// What the end of an actor does to its broker: the first reason is kept, listeners and connections close.
#[derive(Clone)]
struct Poison {
    failure: watch::Sender<Option<String>>,
    stop: watch::Sender<bool>,
}

impl Poison {
    fn fail(&self, reason: String) {
        error!(%reason, "the broker has failed");
        self.failure.send_if_modified(|failure| {
            let first = failure.is_none();
            if first {
                *failure = Some(reason);
            }
            first
        });
        self.stop.send_replace(true);
    }

    /// An actor that ends with an error, or panics, outside of a stop.
    fn ended(&self, (name, ended): (String, Result<Result<(), String>, tokio::task::JoinError>)) {
        let reason = match ended {
            Ok(Ok(())) => return,
            Ok(Err(reason)) => reason,
            Err(error) => error.to_string(),
        };
        if !*self.stop.borrow() {
            self.fail(format!("{name} ended: {reason}"));
        }
    }
}

/// Watches every actor: one that ends with an error, or panics, poisons the broker.
async fn supervise(
    mut started: mpsc::UnboundedReceiver<(String, JoinHandle<Result<(), String>>)>,
    poison: Poison,
) {
    let mut running = FuturesUnordered::new();
    loop {
        tokio::select! {
            actor = started.recv() => match actor {
                Some((name, task)) => running.push(async move { (name, task.await) }),
                None => {
                    while let Some(ended) = running.next().await {
                        poison.ended(ended);
                    }
                    return;
                }
            },
            Some(ended) = running.next() => poison.ended(ended),
        }
    }
}

async fn open_store(config: &Config) -> Result<Arc<dyn LogStore>, StartError> {
    let Some(dir) = config.log_dir.clone() else { return Ok(Arc::new(Mem::new())) };
    #[cfg(feature = "rocksdb")]
    {
        use crate::storage::rocks::{Rocks, RocksOptions};
        let options = RocksOptions {
            dir,
            reserve_bytes: config.log_dir_reserve_bytes,
            accept_data_loss: config.accept_data_loss,
            node_id: NodeId(config.node_id),
        };
        let open = tokio::task::spawn_blocking(move || Rocks::open(options)).await;
        match open {
            Ok(Ok(store)) => Ok(Arc::new(store)),
            Ok(Err(error)) => Err(StartError::Open(error.to_string())),
            Err(panic) => Err(StartError::Open(panic.to_string())),
        }
    }
    #[cfg(not(feature = "rocksdb"))]
    Err(StartError::Open(format!(
        "{}: this build keeps logs in memory only (use --dev)",
        dir.display()
    )))
}

#[cfg(test)]
mod configured;
#[cfg(test)]
mod stopped;
#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::TcpStream;

    fn dev() -> Config {
        Config::build(true, &[("listeners", "PLAINTEXT://127.0.0.1:0")]).unwrap()
    }

    #[tokio::test]
    async fn a_dead_actor_poisons_its_broker_and_closes_its_listeners() {
        let broker = Broker::start(dev()).await.unwrap();
        TcpStream::connect(broker.addr()).await.unwrap();
        let poison = Poison { failure: watch::Sender::new(None), stop: broker.stop.clone() };
        poison.ended(("partition a-0".into(), Ok(Err("damaged".into()))));
        poison.ended(("partition a-1".into(), Ok(Err("a later reason".into()))));
        assert_eq!(poison.failure.borrow().as_deref(), Some("partition a-0 ended: damaged"));
        for listener in broker.listeners {
            listener.await.unwrap();
        }
        assert!(TcpStream::connect(broker.addr).await.is_err());
    }

    /// Nothing used to note the cluster's id, and the boot id was noted before anything was recovered.
    #[cfg(feature = "rocksdb")]
    #[tokio::test]
    async fn a_directory_learns_its_cluster_and_refuses_another() {
        let dir = tempfile::tempdir().unwrap();
        let start = || {
            let path = dir.path().to_str().unwrap();
            let set = [("listeners", "PLAINTEXT://127.0.0.1:0"), ("log.dirs", path)];
            Broker::start(Config::build(true, &set).unwrap())
        };
        let broker = start().await.unwrap();
        let cluster_id = broker.ctx.image.load().cluster_id().to_owned();
        broker.shutdown().await.unwrap();
        let file = dir.path().join("node.yaml");
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.contains(&cluster_id), "{text}");
        assert!(dir.path().join("boot").exists());
        std::fs::write(&file, text.replace(&cluster_id, "null")).unwrap();
        start().await.unwrap().shutdown().await.unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
        let boot = dir.path().join("boot");
        std::fs::remove_file(&boot).unwrap();
        std::fs::write(&file, text.replace(&cluster_id, "another")).unwrap();
        let refused = start().await.err().unwrap().to_string();
        let expected = format!("belongs to cluster another, not to cluster {cluster_id}");
        assert!(refused.ends_with(&expected), "{refused}");
        assert!(!boot.exists(), "nothing was recovered");
    }

    /// After a repair the name of a log may be lost, and must not take the log with it.
    #[tokio::test]
    async fn a_log_without_a_name_goes_unless_loss_was_accepted() {
        let store: Arc<dyn LogStore> = Arc::new(Mem::new());
        let log = store.create(partition::log_options(&dev().topic_defaults)).unwrap();
        for (accept_data_loss, kept) in [(true, true), (false, false)] {
            let mut config = dev();
            config.accept_data_loss = accept_data_loss;
            let broker = Broker::start_with(config, store.clone()).await.unwrap();
            assert_eq!(store.logs().unwrap().contains(&log), kept);
            drop(broker);
        }
    }

    #[tokio::test]
    async fn several_brokers_live_in_one_process() {
        let (a, b) = (Broker::start(dev()).await.unwrap(), Broker::start(dev()).await.unwrap());
        assert_ne!(a.addr(), b.addr());
        a.shutdown().await.unwrap();
        TcpStream::connect(b.addr()).await.unwrap();
        b.shutdown().await.unwrap();
    }
}
