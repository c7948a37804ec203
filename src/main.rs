//! The binary: arguments, configuration, logging; starts a broker and waits for a signal.
//!
//! Standard output carries one line, `ottla ready HOST:PORT`; everything else goes to standard error. Exit codes: 0 after
//! SIGTERM or SIGINT, 2 for bad arguments or configuration, 1 otherwise. Only this file ends the process.

mod health;

use clap::{Args, Parser, Subcommand, ValueEnum};
use ottla::{
    broker::Broker,
    config::{Config, Sources, host_port, loggers::Loggers},
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::{
    io::{IsTerminal, Write},
    path::PathBuf,
    process::ExitCode,
    time::Duration,
};
use tokio::{
    runtime::Runtime,
    select,
    signal::unix::{Signal, SignalKind, signal},
};
use tracing::{info, warn};
use tracing_subscriber::{EnvFilter, reload};

/// How long background work may hold up the end of the process.
const LINGER: Duration = Duration::from_millis(100);

/// A Kafka wire-protocol server: an instant test broker and a durable message queue.
#[derive(Parser)]
#[command(version = concat!(env!("CARGO_PKG_VERSION"), " (speaks the protocol of Kafka 4.1)"))]
#[command(args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    serve: Serve,
}

#[derive(Subcommand)]
enum Command {
    /// Asks a broker whether it serves; exit code 0 when it does.
    Health {
        /// The broker's address.
        #[arg(value_name = "HOST:PORT", default_value = "127.0.0.1:9092")]
        address: String,
    },
}

#[derive(Args)]
struct Serve {
    /// Keep everything in memory, with settings that suit tests.
    #[arg(long)]
    dev: bool,
    /// Read settings from this YAML file: one `name: value` a line, Kafka's names.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Set one setting, whatever the file and the environment say.
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Listen here, without encryption; port 0 takes a free one.
    #[arg(long, value_name = "HOST:PORT")]
    listen: Option<String>,
    /// Keep data here (with --dev too).
    #[arg(long, value_name = "DIR")]
    log_dir: Option<PathBuf>,
    /// How log lines look. RUST_LOG says which there are.
    #[arg(long, value_enum, default_value = "text")]
    log_format: LogFormat,
    /// Start although synced data is known to be lost.
    #[arg(long)]
    accept_data_loss: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum LogFormat {
    Text,
    Json,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let ended = match arguments.command {
        Some(Command::Health { address }) => {
            health::check(&address).map_err(|why| Failure::Other(format!("{address}: {why}")))
        }
        None => serve(arguments.serve),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let (message, code) = match failure {
                Failure::Configuration(message) => (message, 2),
                Failure::Other(message) => (message, 1),
            };
            eprintln!("ottla: {message}");
            ExitCode::from(code)
        }
    }
}

/// Why the process ends otherwise than asked to.
enum Failure {
    Configuration(String),
    Other(String),
}

fn serve(arguments: Serve) -> Result<(), Failure> {
    let format = arguments.log_format;
    let mut config = configuration(arguments).map_err(Failure::Configuration)?;
    config.loggers = log_to_stderr(format).map_err(Failure::Configuration)?;
    for warning in &config.warnings {
        warn!("{warning}");
    }
    allow_many_files();
    let runtime = Runtime::new().map_err(|error| Failure::Other(error.to_string()))?;
    let ended = runtime.block_on(run(config));
    runtime.shutdown_timeout(LINGER);
    ended.map_err(Failure::Other)
}

fn configuration(arguments: Serve) -> Result<Config, String> {
    let text = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
    let sources = Sources {
        dev: arguments.dev,
        file: arguments.config,
        environment: std::env::vars_os().map(|(name, value)| (text(name), text(value))).collect(),
        set: arguments.set,
        listen: arguments.listen,
        log_dir: arguments.log_dir,
        accept_data_loss: arguments.accept_data_loss,
    };
    Config::load(&sources).map_err(|error| error.to_string())
}

fn log_to_stderr(format: LogFormat) -> Result<Loggers, String> {
    let given = match std::env::var("RUST_LOG") {
        Ok(directives) if !directives.is_empty() => directives,
        // At info, openraft tells its own story rather than ours.
        _ => "info,openraft=warn".to_owned(),
    };
    let filter = EnvFilter::try_new(&given).map_err(|error| format!("RUST_LOG: {error}"))?;
    let logging = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    Ok(match format {
        LogFormat::Text => {
            let ansi = std::io::stderr().is_terminal();
            let logging = logging.with_ansi(ansi).with_filter_reloading();
            let handle = logging.reload_handle();
            logging.init();
            Loggers::new(&given, move |directives| install(directives, |it| handle.reload(it)))
        }
        LogFormat::Json => {
            let logging = logging.json().with_filter_reloading();
            let handle = logging.reload_handle();
            logging.init();
            Loggers::new(&given, move |directives| install(directives, |it| handle.reload(it)))
        }
    })
}

/// Logs what `directives` say from now on.
fn install(directives: &str, reload: impl FnOnce(EnvFilter) -> Result<(), reload::Error>) {
    let installed = match EnvFilter::try_new(directives) {
        Ok(filter) => reload(filter).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    match installed {
        Ok(()) => warn!(directives, "what is logged has changed"),
        Err(error) => warn!(directives, error, "what is logged could not be changed"),
    }
}

/// Every connection and every segment is a file: takes as many as the system allows.
fn allow_many_files() {
    let limit = getrlimit(Resource::Nofile);
    let wanted = Rlimit { current: limit.maximum, maximum: limit.maximum };
    if let Err(error) = setrlimit(Resource::Nofile, wanted) {
        warn!(%error, current = limit.current, "the limit of open files could not be raised");
    }
}

async fn run(config: Config) -> Result<(), String> {
    let mut signals = Signals::new().map_err(|error| error.to_string())?;
    let broker = select! {
        started = Broker::start(config) => started.map_err(|error| error.to_string())?,
        // Nothing has been promised yet: what was opened recovers as after a crash.
        _ = signals.next() => return Ok(()),
    };
    let (host, port) = broker.advertised();
    // Whoever started the process may have closed its output; that is no reason to stop.
    let mut stdout = std::io::stdout();
    let _ =
        writeln!(stdout, "ottla ready {}", host_port(&host, port)).and_then(|()| stdout.flush());
    let failed = select! {
        name = signals.next() => {
            info!("{name}: stopping");
            None
        }
        why = broker.failed() => Some(why),
    };
    let stopped = broker.shutdown().await;
    match failed {
        Some(why) => Err(why),
        None => stopped.map_err(|error| format!("not stopped cleanly: {error}")),
    }
}

/// The signals that ask the process to stop.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    fn new() -> std::io::Result<Signals> {
        Ok(Signals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) -> &'static str {
        select! {
            _ = self.interrupt.recv() => "SIGINT",
            _ = self.terminate.recv() => "SIGTERM",
        }
    }
}
