//! `ottla-check`: clients, faults, and a judgement of what the clients saw.
//!
//! Exit codes: 0 nothing is wrong, 1 the broker did what it must not, 2 it could not be found out.

mod final_read;
mod load;
mod node;
mod payload;
mod plan;
mod planted;
mod proxy;
mod random;
mod raw;
mod recorder;
mod run;
mod tracks;

use anyhow::Result;
use clap::{Parser, Subcommand, ValueEnum};
use node::Target;
use run::{Broker, Options};
use std::{path::PathBuf, process::ExitCode, time::Duration};
use tokio::signal::unix::{SignalKind, signal};

/// Tries a Kafka broker with clients and faults, and judges what the clients saw.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// One run.
    Run(Run),
    /// Plants bugs in a broker in memory, one a run, each of which must be found; and one run without any.
    Planted {
        /// Those of `ottla::faults::Plant`; all, and `none`, when none is named.
        names: Vec<String>,
        /// Of load in each run; what comes before and after makes it less than a minute.
        #[arg(long, default_value_t = 30)]
        seconds: u64,
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Where the histories and the reports go.
        #[arg(long)]
        out: PathBuf,
    },
    /// The node in memory: a broker in this process that takes commands from standard input.
    #[command(hide = true)]
    Node {
        #[arg(long)]
        listen: String,
        #[arg(long)]
        set: Vec<String>,
    },
}

#[derive(clap::Args)]
struct Run {
    /// How long clients work and faults happen.
    #[arg(long, default_value_t = 600)]
    seconds: u64,
    /// What the faults follow from.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// What to try Ottla on.
    #[arg(long, value_enum, default_value = "disk")]
    store: Store,
    /// The program for --store disk and synced.
    #[arg(long, default_value = "target/release/ottla")]
    ottla: PathBuf,
    /// Try Apache Kafka instead; this script (compat/kafka/start) starts it.
    #[arg(long, value_name = "SCRIPT", conflicts_with = "store")]
    kafka: Option<PathBuf>,
    /// Try a broker that runs, HOST:PORT, without faults.
    #[arg(long, conflicts_with_all = ["store", "kafka"])]
    bootstrap: Option<String>,
    /// With --bootstrap, the address that the broker advertises: a proxy listens there, and cuts connections.
    #[arg(long, value_name = "HOST:PORT", requires = "bootstrap")]
    proxy: Option<String>,
    /// Where the history and the report go.
    #[arg(long)]
    out: PathBuf,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Store {
    /// On disk; a killed process loses nothing.
    Disk,
    /// On disk, and nothing is acknowledged before it is synced.
    Synced,
    /// In memory, in one process: storage that fails, power cuts, a clock that jumps.
    Mem,
}

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Node { listen, set } => node::serve::serve(listen, set).map(|()| true),
        Command::Run(arguments) => with_runtime(one(arguments)),
        Command::Planted { names, seconds, seed, out } => {
            with_runtime(planted::all(names, Duration::from_secs(seconds), seed, out))
        }
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("ottla-check: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Runs it until it is done or a signal comes; then everything it started goes.
fn with_runtime(work: impl Future<Output = Result<bool>>) -> Result<bool> {
    let runtime = tokio::runtime::Runtime::new()?;
    let ended = runtime.block_on(async {
        let (mut interrupt, mut terminate) =
            (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        tokio::select! {
            ended = work => ended,
            _ = interrupt.recv() => anyhow::bail!("interrupted"),
            _ = terminate.recv() => anyhow::bail!("terminated"),
        }
    });
    // Clients may be in the middle of something.
    runtime.shutdown_background();
    ended
}

async fn one(arguments: Run) -> Result<bool> {
    let Run { seconds, seed, store, ottla, kafka, bootstrap, proxy, out } = arguments;
    let broker = match (bootstrap, kafka) {
        (Some(bootstrap), _) => Broker::Foreign { bootstrap, proxy },
        (None, Some(script)) => Broker::Ours(Target::Kafka { script }),
        (None, None) => Broker::Ours(match store {
            Store::Mem => Target::Mem,
            store => Target::Disk { program: ottla, synced: store == Store::Synced },
        }),
    };
    let lasting = Duration::from_secs(seconds);
    let options = Options { seed, lasting, out: out.clone(), broker, plant: None, talks: true };
    let outcome = run::run(options).await?;
    println!("{}\n{}", outcome.report, out.display());
    Ok(outcome.is_clean())
}
