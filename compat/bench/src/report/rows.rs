//! The rows of the report: which figure of which scenario. `run` beside the program's sources gives scenarios these names.

use crate::outcome::Figures;
use serde::Serialize;

#[derive(Debug, Serialize)]
pub struct Row {
    /// As `--row` has it.
    pub name: &'static str,
    pub what: &'static str,
    pub unit: &'static str,
    #[serde(skip)]
    pub figure: fn(&Figures) -> Option<f64>,
    pub table: Table,
    /// Its title in the picture, which it is not in without.
    #[serde(skip)]
    pub chart: Option<&'static str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Table {
    /// Less is better.
    Cost,
    /// More is better: what the load and the broker together achieved.
    Rate,
    /// Less is better: milliseconds from a request to its answer.
    Latency,
}

const SMALL: &str = "produce, 1 record of 100 B a request, 16 connections x 1 in flight";
const SMALL_5: &str = "the same x 5 in flight";
const KB64: &str = "produce, 64 KiB batches";
const MB1: &str = "produce, 1 MiB batches";
const SYNCED: &str = "fsync for every request, 100 B, 16 x 1";
const SYNCED_64: &str = "fsync for every request, 64 KiB batches";
const MANY: &str = "produce to 1000 partitions, 100 B, 16 x 5";
const PACED: &str = "produce at a fixed rate of 2000 requests/s, 100 B";
const FETCH: &str = "fetch what was written";
const LATENCY: &str = "produce to a waiting consumer, 500 records/s";

pub const ROWS: &[Row] = &[
    charted("Produce, 64 KiB batches", cost("produce-64k", KB64, "CPU s/GB", |f| f.cpu_s_per_gb)),
    charted("Produce, 1 MiB batches", cost("produce-1m", MB1, "CPU s/GB", |f| f.cpu_s_per_gb)),
    charted(
        "Produce, 100 B a request, 16 x 1",
        cost("small", SMALL, "CPU us", |f| f.cpu_us_per_request),
    ),
    charted(
        "Produce, 100 B a request, 16 x 5",
        cost("small-5", SMALL_5, "CPU us", |f| f.cpu_us_per_request),
    ),
    cost("fsync-small", SYNCED, "CPU us", |f| f.cpu_us_per_request),
    cost("fsync-64k", SYNCED_64, "CPU s/GB", |f| f.cpu_s_per_gb),
    charted(
        "The same to 1000 partitions",
        cost("partitions", MANY, "CPU us", |f| f.cpu_us_per_request),
    ),
    charted("Fetch", cost("fetch", FETCH, "CPU s/GB", |f| f.cpu_s_per_gb)),
    cost("storm", "5000 clients connect", "CPU us each", |f| f.cpu_us_per_request),
    cost("create", "make a topic of 1000 partitions", "s", seconds),
    cost("group", "a group of 20 settles", "ms", p50),
    cost("join", "a consumer joins a running group (20 ms are its heartbeat)", "ms", p50),
    charted("Start to usable", cost("usable", "start to usable", "s", seconds)),
    charted(
        "Restart with 1000 partitions",
        cost("restart-clean", "restart with 1000 partitions, clean", "s", seconds),
    ),
    cost("restart-killed", "the same after kill -9", "s", seconds),
    cost("stop", "clean stop", "s", seconds),
    charted("Idle memory", cost("idle", "idle memory", "MB", |f| f.rss_mb_after)),
    rate("produce-64k", KB64, "MB/s", mb),
    rate("produce-1m", MB1, "MB/s", mb),
    rate("small", SMALL, "requests/s", requests),
    rate("small-5", SMALL_5, "requests/s", requests),
    rate("fsync-small", SYNCED, "requests/s", requests),
    rate("fsync-64k", SYNCED_64, "MB/s", mb),
    rate("partitions", MANY, "requests/s", requests),
    rate("fetch", FETCH, "MB/s", mb),
    rate("storm", "5000 clients connect", "connects/s", requests),
    latency("small", SMALL, "ms, p50", p50),
    latency("small", SMALL, "ms, p99", p99),
    latency("small-5", SMALL_5, "ms, p50", p50),
    latency("small-5", SMALL_5, "ms, p99", p99),
    latency("fsync-small", SYNCED, "ms, p50", p50),
    latency("fsync-small", SYNCED, "ms, p99", p99),
    latency("partitions", MANY, "ms, p99", p99),
    latency("paced", PACED, "ms, p50", p50),
    latency("paced", PACED, "ms, p99", p99),
    latency("paced", PACED, "ms, p99.9", |f| Some(f.latency_ms?.p999)),
    latency("paced", PACED, "ms, longest", |f| Some(f.latency_ms?.max)),
    charted("Producer to consumer, median", latency("latency", LATENCY, "ms, p50", p50)),
    charted("Producer to consumer, 99 %", latency("latency", LATENCY, "ms, p99", p99)),
];

type Figure = fn(&Figures) -> Option<f64>;

const fn cost(name: &'static str, what: &'static str, unit: &'static str, figure: Figure) -> Row {
    Row { name, what, unit, figure, table: Table::Cost, chart: None }
}

const fn rate(name: &'static str, what: &'static str, unit: &'static str, figure: Figure) -> Row {
    Row { table: Table::Rate, ..cost(name, what, unit, figure) }
}

const fn latency(
    name: &'static str,
    what: &'static str,
    unit: &'static str,
    figure: Figure,
) -> Row {
    Row { table: Table::Latency, ..cost(name, what, unit, figure) }
}

const fn charted(title: &'static str, row: Row) -> Row {
    Row { chart: Some(title), ..row }
}

fn seconds(figures: &Figures) -> Option<f64> {
    Some(figures.seconds)
}

fn mb(figures: &Figures) -> Option<f64> {
    Some(figures.mb_per_s)
}

fn requests(figures: &Figures) -> Option<f64> {
    Some(figures.requests_per_s)
}

fn p50(figures: &Figures) -> Option<f64> {
    Some(figures.latency_ms?.p50)
}

fn p99(figures: &Figures) -> Option<f64> {
    Some(figures.latency_ms?.p99)
}
