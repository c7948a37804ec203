//! The results as tables in Markdown.

use super::{Cell, Line, Results, rows::Table, statistics::figure};
use std::fmt::{self, Write};

/// Above this share of a core the load was the limit.
const CLIENT_SHARE_MAX: f64 = 0.9;

pub fn tables(results: &Results) -> String {
    let mut out = String::new();
    write(&mut out, results).expect("a string takes all that is written");
    out
}

fn write(out: &mut String, results: &Results) -> fmt::Result {
    writeln!(out, "# What brokers cost\n")?;
    writeln!(out, "Written by `compat/bench/run`; README.md beside it says what the rows mean.")?;
    writeln!(out, "{}\n", results.about)?;
    writeln!(
        out,
        "Medians over the rounds, in brackets the least and the most. Absolute figures belong to this machine on that day: \
         compare within a row. Ratios are medians of those within a round.\n"
    )?;
    table(out, results, Table::Cost, "Cost: less is better")?;
    table(out, results, Table::Rate, "Rate: more is better")?;
    table(out, results, Table::Latency, "Latency: less is better")?;
    writeln!(
        out,
        "`*`: the load took more than {:.0} % of its core; it was the limit, not the broker.",
        CLIENT_SHARE_MAX * 100.0
    )?;
    if results.failures.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n## What could not be measured\n")?;
    for failure in &results.failures {
        let of = if failure.row.is_empty() { "all" } else { &failure.row };
        writeln!(out, "- {}, {of}: {}", failure.broker, failure.reason)?;
    }
    Ok(())
}

fn table(out: &mut String, results: &Results, table: Table, title: &str) -> fmt::Result {
    let lines: Vec<_> = results.lines.iter().filter(|line| line.row.table == table).collect();
    if lines.is_empty() {
        return Ok(());
    }
    let ratios = ratios(results);
    let titles = results.columns.iter().map(|column| column.title.clone());
    let divided = ratios.iter().map(|(of, to)| format!("{of} : {to}"));
    let head: Vec<_> = titles.chain(divided).collect();
    writeln!(out, "## {title}\n")?;
    writeln!(out, "| | Unit | {} |", head.join(" | "))?;
    writeln!(out, "|---|---|{}", "--:|".repeat(head.len()))?;
    for line in lines {
        let cells = line.cells.iter().map(|cell| self::cell(cell, table));
        let ratios = ratios.iter().map(|ratio| self::ratio(line, ratio));
        let cells: Vec<_> = cells.chain(ratios).collect();
        writeln!(out, "| {} | {} | {} |", line.row.what, line.row.unit, cells.join(" | "))?;
    }
    writeln!(out)
}

/// Those that some line has.
fn ratios(results: &Results) -> Vec<(&str, &str)> {
    let mut all = vec![];
    for ratio in results.lines.iter().flat_map(|line| &line.ratios) {
        let pair = (ratio.of.as_str(), ratio.to.as_str());
        if !all.contains(&pair) {
            all.push(pair);
        }
    }
    all
}

fn cell(cell: &Cell, table: Table) -> String {
    match cell {
        Cell::Measured { summary, client_share } => {
            let limited = table != Table::Cost && *client_share > CLIENT_SHARE_MAX;
            let mark = if limited { "\\*" } else { "" };
            let median = figure(summary.median);
            match summary.rounds {
                1 => format!("{median}{mark}"),
                _ => {
                    let (least, most) = (figure(summary.least), figure(summary.most));
                    format!("**{median}**{mark} ({least}-{most})")
                }
            }
        }
        Cell::Failed(word) => (*word).to_owned(),
        Cell::Nothing => String::new(),
    }
}

fn ratio(line: &Line, (of, to): &(&str, &str)) -> String {
    let found = line.ratios.iter().find(|ratio| ratio.of == *of && ratio.to == *to);
    found.map_or(String::new(), |ratio| figure(ratio.value))
}
