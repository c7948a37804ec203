//! One run: a broker behind the proxy, the clients, the faults of the plan, the final read, the judgement.

use crate::{
    final_read::final_read,
    load::{GROUPS, Topic, World, start_load},
    node::{Node, Target, free_port},
    plan::Plan,
    proxy::Proxy,
    random::Random,
    raw::Connection,
    recorder::{Notes, Process, Recorder},
    tracks::{node_track, wire_track},
};
use anyhow::{Context, Result, bail};
use judge::{Verdict, history::Role};
use kafka_protocol::{
    error::ResponseError,
    messages::{CreateTopicsRequest, TopicName, create_topics_request::CreatableTopic},
    protocol::StrBytes,
};
use ottla::faults;
use std::{
    fs::{self, File},
    io::BufReader,
    path::PathBuf,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};
use tokio::{task::spawn_blocking, time::sleep};

pub struct Options {
    pub seed: u64,
    pub lasting: Duration,
    /// Where everything is written; must be empty or not there.
    pub out: PathBuf,
    pub broker: Broker,
    /// Only in memory.
    pub plant: Option<Plant>,
    /// Says how it goes, on standard output.
    pub talks: bool,
}

pub enum Broker {
    Ours(Target),
    /// Any broker; `proxy`: where we listen, if that is what it advertises.
    Foreign {
        bootstrap: String,
        proxy: Option<String>,
    },
}

/// A bug, and the faults that show it.
pub struct Plant {
    /// None: no bug, the faults alone.
    pub bug: Option<faults::Plant>,
    pub plan: Plan,
}

/// What came of a run.
pub struct Outcome {
    pub verdict: Verdict,
    pub notes: Notes,
    pub report: String,
    /// How often the planted bug acted.
    pub acted: u64,
}

impl Outcome {
    pub fn is_clean(&self) -> bool {
        self.verdict.is_clean() && self.notes.complaints.is_empty()
    }
}

const PARTITIONS: u32 = 3;
/// How long topics may take to come into being.
const TOPICS: Duration = Duration::from_secs(60);

pub async fn run(options: Options) -> Result<Outcome> {
    let Options { seed, lasting, out, .. } = &options;
    fs::create_dir_all(out).with_context(|| out.display().to_string())?;
    if out.join("history.jsonl").exists() {
        bail!("{}: there is a history already", out.display());
    }
    let mut random = Random::new(u64::from(std::process::id()), "port");
    let port = free_port(&mut random)?;
    let (mut node, proxy, bootstrap) = match &options.broker {
        Broker::Ours(target) => {
            let proxy = Proxy::start("127.0.0.1:0", format!("127.0.0.1:{port}")).await?;
            let node = Node::new(target.clone(), out, port, proxy.address());
            let bootstrap = proxy.address();
            (Some(node), Some(proxy), bootstrap)
        }
        Broker::Foreign { bootstrap, proxy: None } => (None, None, bootstrap.clone()),
        Broker::Foreign { bootstrap, proxy: Some(listen) } => {
            let proxy = Proxy::start(listen, bootstrap.clone()).await?;
            let bootstrap = proxy.address();
            (None, Some(proxy), bootstrap)
        }
    };
    let mut menu = node.as_ref().map(Node::menu).unwrap_or_default();
    menu.wire = proxy.is_some();
    let plan = match &options.plant {
        Some(plant) => plant.plan.clone(),
        None => Plan::draw(*seed, *lasting, &menu),
    };
    let bug = options.plant.as_ref().and_then(|plant| plant.bug);
    let target = match &node {
        Some(node) => node.describe(),
        None => format!("the broker at {bootstrap}"),
    };
    fs::write(
        out.join("plan.txt"),
        format!("seed {seed}, {} s, {target}\n{plan}", lasting.as_secs()),
    )?;
    let role = Role::Checker { seed: *seed, target };
    let (recorder, checker) = Recorder::create(&out.join("history.jsonl"), role)?;
    if let Some(node) = &mut node {
        node.start().await?;
        if let Some(bug) = bug {
            node.command(&format!("plant {bug} {} {seed}", bug.usual_odds())).await?;
        }
    }
    let world = world(&options, recorder.clone(), bootstrap);
    {
        let world = world.clone();
        spawn_blocking(move || create_topics(&world)).await??;
    }
    let load = start_load(&world)?;
    let said = say_how_it_goes(&options, &recorder);
    let (node_went, ()) = tokio::join!(
        node_track(&mut node, &plan.node, &recorder, &checker, *lasting),
        wire_track(&proxy, &plan.wire, &recorder, &checker, *lasting),
    );
    if let Some(said) = said {
        said.abort();
    }
    spawn_blocking(move || load.stop()).await?;
    let ended = match node_went {
        Ok(()) => finish(&mut node, &world, &checker).await,
        Err(error) => Err(error),
    };
    if let Err(error) = ended {
        recorder.complain(format!("{error:#}"));
    }
    let acted = match (bug, &mut node) {
        (Some(bug), Some(node)) => node.ask(&format!("acted {bug}")).await?.parse()?,
        _ => 0,
    };
    let skipped = node.as_ref().map(|node| node.skipped.clone()).unwrap_or_default();
    let starts = node.as_ref().map_or(0, Node::starts);
    if let Some(node) = node
        && let Err(error) = node.stop().await
    {
        recorder.complain(format!("the broker does not stop: {error:#}"));
    }
    recorder.flush()?;
    let history = BufReader::new(File::open(out.join("history.jsonl"))?);
    let judged = spawn_blocking(move || judge::judge(history));
    let (verdict, timeline) = judged.await??;
    let notes = notes(&recorder, out);
    let mut report = judge::report::text(&verdict, &timeline);
    append(&mut report, &notes, starts, &skipped, proxy.as_ref());
    fs::write(out.join("report.txt"), &report)?;
    fs::write(out.join("plot.svg"), judge::plot::svg(&timeline))?;
    Ok(Outcome { verdict, notes, report, acted })
}

fn world(options: &Options, recorder: Arc<Recorder>, bootstrap: String) -> Arc<World> {
    // A broker that is not ours may have topics of an earlier run.
    let prefix = match options.broker {
        Broker::Ours(_) => "check".to_owned(),
        Broker::Foreign { .. } => format!("check-{}-{}", options.seed, std::process::id()),
    };
    let topics = vec![
        Topic::new(format!("{prefix}-plain"), PARTITIONS, false),
        Topic::new(format!("{prefix}-packed"), PARTITIONS, true),
    ];
    World::new(recorder, bootstrap, options.seed, prefix, topics)
}

fn create_topics(world: &World) -> Result<()> {
    let topic = |topic: &Topic| {
        CreatableTopic::default()
            .with_name(TopicName(StrBytes::from_string(topic.name.clone())))
            .with_num_partitions(topic.partitions().count() as i32)
            .with_replication_factor(-1)
    };
    let request = CreateTopicsRequest::default()
        .with_timeout_ms(10_000)
        .with_topics(world.topics.iter().map(topic).collect());
    let mut last = String::new();
    while world.recorder.elapsed() < TOPICS {
        let answer = Connection::open(&world.bootstrap)
            .map_err(Into::into)
            .and_then(|mut connection| connection.call(5, &request));
        match answer {
            Ok(answer) => {
                let refused = answer.topics.iter().find_map(|topic| {
                    let error = ResponseError::try_from_code(topic.error_code)?;
                    (error != ResponseError::TopicAlreadyExists).then(|| error.to_string())
                });
                match refused {
                    None => return Ok(()),
                    Some(refused) => last = refused,
                }
            }
            Err(error) => last = error.to_string(),
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    bail!("no topics: {last}")
}

fn say_how_it_goes(
    options: &Options,
    recorder: &Arc<Recorder>,
) -> Option<tokio::task::JoinHandle<()>> {
    if !options.talks {
        return None;
    }
    let recorder = recorder.clone();
    Some(tokio::spawn(async move {
        loop {
            sleep(Duration::from_secs(30)).await;
            let (seconds, values) = (recorder.elapsed().as_secs(), recorder.values());
            let complaints = recorder.notes().complaints.len();
            println!("{seconds:>5} s  {values} records sent, {complaints} complaints");
        }
    }))
}

/// Heals, and reads everything.
async fn finish(node: &mut Option<Node>, world: &Arc<World>, checker: &Process) -> Result<()> {
    if let Some(node) = node {
        if let Some(failure) = node.failure().await? {
            world.recorder.complain(failure);
        }
        node.heal().await?;
    }
    let (world, checker) = (world.clone(), checker.clone());
    let groups: Vec<String> =
        GROUPS.iter().map(|(group, _)| format!("{}-{group}", world.prefix)).collect();
    spawn_blocking(move || final_read(&world, &checker, &groups)).await?
}

/// What was noted, and what the broker's log says that it must not.
fn notes(recorder: &Recorder, out: &std::path::Path) -> Notes {
    let mut notes = recorder.notes();
    let log = fs::read(out.join("broker.log")).unwrap_or_default();
    let log = String::from_utf8_lossy(&log);
    let panics = log.lines().filter(|line| line.contains("panicked at"));
    notes.complaints.extend(panics.take(10).map(|line| format!("broker.log: {line}")));
    notes
}

fn append(
    report: &mut String,
    notes: &Notes,
    starts: u32,
    skipped: &[String],
    proxy: Option<&Proxy>,
) {
    let mut line = |text: String| {
        report.push_str(&text);
        report.push('\n');
    };
    line(String::new());
    if starts > 0 {
        line(format!("starts of the broker: {starts}"));
    }
    if let Some(proxy) = proxy {
        let accepted = proxy.counts().accepted.load(Ordering::Relaxed);
        let cut = proxy.counts().cut.load(Ordering::Relaxed);
        line(format!("connections: {accepted}, of which cut: {cut}"));
    }
    for why in skipped {
        line(format!("left out: {why}"));
    }
    line(format!("complaints: {}", notes.complaints.len()));
    for complaint in &notes.complaints {
        line(format!("  {complaint}"));
    }
    line("errors that clients were told".into());
    for (error, times) in &notes.errors {
        line(format!("  {times:>8}  {error}"));
    }
}
