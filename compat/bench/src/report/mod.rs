//! `report`: reads lines of scenarios, takes medians over the rounds, and writes them as tables, JSON and a picture.
//!
//! Ratios are taken within a round, where both brokers met the same machine, and then their median.

mod chart;
mod markdown;
mod rows;
mod statistics;

use crate::outcome::{Figures, Outcome};
use anyhow::{Context, Result};
use rows::{ROWS, Row};
use serde::Serialize;
use statistics::Summary;
use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
};

#[derive(Debug, Clone, clap::Args)]
pub struct Report {
    /// Files of scenarios' lines.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// A column, in order: the label of a broker and what to call it.
    #[arg(long = "column", value_name = "BROKER=TITLE", required = true)]
    columns: Vec<String>,
    /// A sentence about the run: when, what, on which machine.
    #[arg(long, default_value = "")]
    about: String,
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

/// All that the tables and the picture show.
#[derive(Debug, Serialize)]
struct Results {
    about: String,
    columns: Vec<Column>,
    lines: Vec<Line>,
    /// What could not be measured, each once.
    failures: Vec<Failure>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Column {
    broker: String,
    title: String,
}

#[derive(Debug, Serialize)]
struct Line {
    #[serde(flatten)]
    row: &'static Row,
    /// One for each column.
    cells: Vec<Cell>,
    ratios: Vec<Ratio>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(untagged)]
enum Cell {
    Measured {
        #[serde(flatten)]
        summary: Summary,
        /// Share of one core that the load took: near 1 it was the limit, not the broker.
        client_share: f64,
    },
    Failed(&'static str),
    /// Nobody tried.
    Nothing,
}

/// One broker's figure divided by another's.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Ratio {
    of: String,
    to: String,
    value: f64,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct Failure {
    broker: String,
    /// Empty: the broker as a whole.
    row: String,
    reason: String,
}

/// Which figures are divided by which, where both are in the report.
const RATIOS: [(&str, &str); 4] =
    [("ottla", "kafka"), ("ottla", "null"), ("ottla-dev", "kafka"), ("ottla-dev", "null")];

pub fn run(arguments: &Report) -> Result<()> {
    let outcomes = arguments.files.iter().map(|file| read(file)).collect::<Result<Vec<_>>>()?;
    let columns = arguments.columns.iter().map(|column| {
        let (broker, title) = column.split_once('=').context("a column is BROKER=TITLE")?;
        Ok(Column { broker: broker.to_owned(), title: title.to_owned() })
    });
    let columns = columns.collect::<Result<_>>()?;
    let results = results(&outcomes.concat(), columns, arguments.about.clone());
    let markdown = markdown::tables(&results);
    if let Some(file) = &arguments.markdown {
        write(file, &markdown)?;
    }
    if let Some(file) = &arguments.json {
        write(file, &serde_json::to_string_pretty(&results)?)?;
    }
    if let Some(file) = &arguments.svg {
        write(file, &chart::svg(&results))?;
    }
    print!("{markdown}");
    Ok(())
}

fn read(file: &Path) -> Result<Vec<Outcome>> {
    let name = file.display();
    let open = fs::File::open(file).with_context(|| name.to_string())?;
    let lines = BufReader::new(open).lines().enumerate();
    let outcomes = lines.map(|(number, line)| {
        serde_json::from_str(&line?).with_context(|| format!("{name}, line {}", number + 1))
    });
    outcomes.collect()
}

fn write(file: &Path, text: &str) -> Result<()> {
    fs::write(file, text).with_context(|| file.display().to_string())
}

fn results(outcomes: &[Outcome], columns: Vec<Column>, about: String) -> Results {
    let lines = ROWS.iter().map(|row| line(row, outcomes, &columns));
    let lines = lines.filter(|line| line.cells.iter().any(|cell| *cell != Cell::Nothing)).collect();
    let failed = outcomes.iter().filter_map(|outcome| {
        let labels = &outcome.labels;
        let (broker, row) = (labels.broker.clone(), labels.row.clone());
        outcome.error.clone().map(|reason| Failure { broker, row, reason })
    });
    let mut failures: Vec<_> = failed.collect();
    failures.sort();
    failures.dedup();
    Results { about, columns, lines, failures }
}

fn line(row: &'static Row, outcomes: &[Outcome], columns: &[Column]) -> Line {
    let cell = |column: &Column| cell(row, outcomes, &column.broker);
    let ratio = |(of, to): &(&str, &str)| {
        let (ours, theirs) = (figures(row, outcomes, of), figures(row, outcomes, to));
        let pairs = ours.iter().filter_map(|(round, ours)| Some(ours / theirs.get(round)?));
        let value = Summary::of(pairs.filter(|ratio| ratio.is_finite()).collect())?.median;
        Some(Ratio { of: (*of).to_owned(), to: (*to).to_owned(), value })
    };
    Line {
        row,
        cells: columns.iter().map(cell).collect(),
        ratios: RATIOS.iter().filter_map(ratio).collect(),
    }
}

fn cell(row: &Row, outcomes: &[Outcome], broker: &str) -> Cell {
    let figures = figures(row, outcomes, broker);
    if let Some(summary) = Summary::of(figures.into_values().collect()) {
        let share = |figures: &Figures| match figures.seconds > 0.0 {
            true => figures.client_cpu_s / figures.seconds,
            false => 0.0,
        };
        let measured = of(row, outcomes, broker).filter(|outcome| outcome.error.is_none());
        let shares = measured.map(|outcome| share(&outcome.figures)).collect();
        let client_share = Summary::of(shares).map_or(0.0, |shares| shares.median);
        return Cell::Measured { summary, client_share };
    }
    match of(row, outcomes, broker).next() {
        Some(_) => Cell::Failed("failed"),
        None => Cell::Nothing,
    }
}

/// The figure of each round that has one.
fn figures(row: &Row, outcomes: &[Outcome], broker: &str) -> BTreeMap<u32, f64> {
    let good = of(row, outcomes, broker).filter(|outcome| outcome.error.is_none());
    good.filter_map(|outcome| Some((outcome.labels.round, (row.figure)(&outcome.figures)?)))
        .collect()
}

/// What a row and a broker have, without the warm-up.
fn of<'a>(
    row: &'a Row,
    outcomes: &'a [Outcome],
    broker: &'a str,
) -> impl Iterator<Item = &'a Outcome> {
    outcomes.iter().filter(move |outcome| {
        let labels = &outcome.labels;
        labels.row == row.name && labels.broker == broker && labels.round > 0
    })
}

#[cfg(test)]
mod tests;
