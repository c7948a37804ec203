//! `ottla-bench`: load for a Kafka broker, and what it costs the broker. Each scenario prints one line of JSON; `report`
//! makes tables and a picture of such lines. `run` beside it starts the brokers.
//!
//! Exit codes: 0, or 1 when a scenario failed; its line then says why.

mod client;
mod clock;
mod closed;
mod fetch;
mod frames;
mod member;
mod null;
mod outcome;
mod paced;
mod produce;
mod ready;
mod report;
mod scenarios;
mod server;
mod threads;
mod topics;

use anyhow::{Result, bail};
use clap::{Parser, Subcommand};
use outcome::{Figures, Labels, Outcome};
use scenarios::Target;
use serde::Serialize;
use std::{net::TcpListener, process::ExitCode};

/// Measures Kafka brokers.
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    labels: Labels,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Sends batches, as fast as answers come or at a fixed rate.
    Produce(scenarios::produce::Produce),
    /// Writes a topic and reads it from the start.
    Fetch(scenarios::fetch::Fetch),
    /// From a producer to a consumer that waits, at a fixed rate.
    Latency(scenarios::latency::Latency),
    /// Makes a topic with many partitions.
    Create(scenarios::create::Create),
    /// Connects many clients.
    Storm(scenarios::storm::Storm),
    /// Lets a group form.
    Group(scenarios::group::Group),
    /// Lets a consumer join a group that runs.
    Join(scenarios::join::Join),
    /// Looks at a broker that does nothing.
    Idle(scenarios::idle::Idle),
    /// Waits until a broker that starts serves.
    Usable(scenarios::usable::Usable),
    /// Ends a broker.
    Stop(scenarios::stop::Stop),
    /// Notes that there is no broker to measure.
    Absent {
        /// Why.
        reason: String,
    },
    /// Is a broker that stores nothing, until it is killed.
    Null {
        #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:9092")]
        listen: String,
    },
    /// Tables and a picture of what scenarios have printed.
    Report(report::Report),
}

fn main() -> ExitCode {
    let Arguments { target, labels, command } = Arguments::parse();
    let result = match command {
        Command::Null { listen } => {
            TcpListener::bind(listen).map_err(Into::into).and_then(null::serve)
        }
        Command::Report(arguments) => report::run(&arguments),
        scenario => measure(scenario, labels, &target),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ottla-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn measure(command: Command, labels: Labels, target: &Target) -> Result<()> {
    use scenarios::*;
    match command {
        Command::Produce(a) => one("produce", &a, labels, produce::run(&a, target)),
        Command::Fetch(a) => one("fetch", &a, labels, fetch::run(&a, target)),
        Command::Latency(a) => one("latency", &a, labels, latency::run(&a, target)),
        Command::Create(a) => one("create", &a, labels, create::run(&a, target)),
        Command::Storm(a) => one("storm", &a, labels, storm::run(&a, target)),
        Command::Group(a) => one("group", &a, labels, group::run(&a, target)),
        Command::Join(a) => one("join", &a, labels, join::run(&a, target)),
        Command::Idle(a) => one("idle", &a, labels, idle::run(&a, target)),
        Command::Usable(a) => one("usable", &a, labels, usable::run(&a, target)),
        Command::Stop(a) => one("stop", &a, labels, stop::run(&a, target)),
        Command::Absent { reason } => absent(labels, reason),
        Command::Null { .. } | Command::Report(_) => bail!("not a scenario"),
    }
}

/// Prints the line of a scenario, also of one that failed.
fn one(
    scenario: &str,
    parameters: &impl Serialize,
    labels: Labels,
    result: Result<Figures>,
) -> Result<()> {
    let outcome = Outcome {
        labels,
        scenario: scenario.to_owned(),
        parameters: serde_json::to_value(parameters)?,
        error: result.as_ref().err().map(|error| format!("{error:#}")),
        figures: *result.as_ref().unwrap_or(&Figures::default()),
    };
    println!("{}", serde_json::to_string(&outcome)?);
    result.map(|_| ())
}

fn absent(labels: Labels, reason: String) -> Result<()> {
    let outcome = Outcome { labels, error: Some(reason), ..Outcome::default() };
    println!("{}", serde_json::to_string(&outcome)?);
    Ok(())
}
