//! The results as a picture: a panel of bars for each row that has a title for it, every panel on its own scale from 0.
//! SVG by hand.

use super::{Cell, Line, Results, statistics::figure};
use std::fmt::{self, Write};

const PANELS_ACROSS: usize = 3;
const PANEL_WIDTH: f64 = 380.0;
const BAR: f64 = 20.0;
const MARGIN: f64 = 24.0;
/// Room for the names of the brokers, for the values behind the bars, and for a panel's title.
const NAMES: f64 = 104.0;
const VALUES: f64 = 76.0;
const TITLE: f64 = 44.0;
const BELOW_PANEL: f64 = 22.0;
/// Bars that are more times as long as Kafka's are cut off, or no other could be seen beside them.
const CUT: f64 = 4.0;

const OURS: &str = "#1f5fa8";
const LIMIT: &str = "#c9d1d9";
const THEIRS: &str = "#8a94a0";

/// A whole SVG file.
pub fn svg(results: &Results) -> String {
    let mut out = String::new();
    draw(&mut out, results).expect("a string takes all that is written");
    out
}

fn draw(out: &mut String, results: &Results) -> fmt::Result {
    let titled = |line: &'_ &Line| line.row.chart.is_some();
    let lines: Vec<_> = results.lines.iter().filter(titled).collect();
    let panel_height = TITLE + BAR * results.columns.len() as f64 + BELOW_PANEL;
    let down = lines.len().div_ceil(PANELS_ACROSS) as f64;
    let width = PANEL_WIDTH * PANELS_ACROSS as f64 + 2.0 * MARGIN;
    let top = MARGIN + 34.0;
    let height = top + down * panel_height + MARGIN;
    writeln!(
        out,
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" font-family="DejaVu Sans, Verdana, sans-serif" font-size="12" fill="#222">"##
    )?;
    writeln!(out, r##"<rect width="100%" height="100%" fill="#ffffff"/>"##)?;
    let title = "What brokers cost: shorter is better";
    let baseline = MARGIN + 10.0;
    writeln!(out, r#"<text x="{MARGIN}" y="{baseline}" font-size="17">{title}</text>"#)?;
    for (index, line) in lines.into_iter().enumerate() {
        let (column, row) = (index % PANELS_ACROSS, index / PANELS_ACROSS);
        let (x, y) = (column as f64 * PANEL_WIDTH + MARGIN, row as f64 * panel_height + top);
        panel(out, results, line, x, y)?;
    }
    writeln!(out, "</svg>")
}

fn panel(out: &mut String, results: &Results, line: &Line, x: f64, y: f64) -> fmt::Result {
    let (what, unit) = (escaped(line.row.chart.unwrap_or_default()), escaped(line.row.unit));
    let (first, second) = (y + 14.0, y + 30.0);
    writeln!(out, r#"<text x="{x}" y="{first}" font-weight="bold">{what}</text>"#)?;
    writeln!(out, r##"<text x="{x}" y="{second}" font-size="11" fill="#666">{unit}</text>"##)?;
    let longest = longest(results, line);
    for (index, (column, cell)) in results.columns.iter().zip(&line.cells).enumerate() {
        let (left, above) = (x + NAMES, y + TITLE + BAR * index as f64);
        let (baseline, name) = (above + BAR * 0.68, escaped(&column.broker));
        let end = left - 8.0;
        let (colour, weight) = match column.broker.as_str() {
            "ottla" | "ottla-dev" => (OURS, "bold"),
            "null" => (LIMIT, "normal"),
            _ => (THEIRS, "normal"),
        };
        writeln!(
            out,
            r#"<text x="{end}" y="{baseline:.1}" text-anchor="end" font-weight="{weight}">{name}</text>"#
        )?;
        let length = median(cell).map(|value| (value / longest).min(1.0));
        let length = length.map(|share| (PANEL_WIDTH - NAMES - VALUES - MARGIN) * share);
        let value = match cell {
            Cell::Measured { summary, .. } if summary.median > longest => {
                format!("{}, cut", figure(summary.median))
            }
            Cell::Measured { summary, .. } => figure(summary.median),
            Cell::Failed(word) => (*word).to_owned(),
            Cell::Nothing => "-".to_owned(),
        };
        if let Some(length) = length {
            let (bar, length) = (BAR - 5.0, length.max(1.0));
            writeln!(
                out,
                r#"<rect x="{left}" y="{above:.1}" width="{length:.1}" height="{bar}" fill="{colour}"/>"#
            )?;
        }
        let behind = left + length.unwrap_or(0.0) + 6.0;
        writeln!(out, r#"<text x="{behind:.1}" y="{baseline:.1}">{value}</text>"#)?;
    }
    Ok(())
}

/// The value of a bar of full length; more than nothing.
fn longest(results: &Results, line: &Line) -> f64 {
    let kafka = results.columns.iter().position(|column| column.broker == "kafka");
    let kafka = kafka.and_then(|index| median(&line.cells[index]));
    let limit = kafka.map_or(f64::INFINITY, |kafka| kafka * CUT);
    let values = line.cells.iter().filter_map(median).filter(|value| *value <= limit);
    values.fold(f64::MIN_POSITIVE, f64::max)
}

fn median(cell: &Cell) -> Option<f64> {
    match cell {
        Cell::Measured { summary, .. } => Some(summary.median),
        Cell::Failed(_) | Cell::Nothing => None,
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
