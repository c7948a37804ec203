//! The course of a run as a picture: throughput and latency over time, with the faults marked. SVG by hand.
//!
//! From above: a row of marks for each name of fault, throughput (linear), latency (logarithmic). Every fault is also a
//! pale band of its colour through both panels, so that one sees what it did.

use crate::{
    report::grouped,
    timeline::{Fault, Second, Timeline},
};
use std::fmt::{self, Write};

/// Points of a line: longer runs show several seconds as one.
const POINTS_MAX: usize = 900;

const WIDTH: f64 = 1200.0;
const LEFT: f64 = 96.0;
const RIGHT: f64 = 1180.0;
const ROW: f64 = 18.0;
const PANEL: f64 = 230.0;
const GAP: f64 = 52.0;
/// About the width of a letter.
const LETTER: f64 = 7.0;

const ACKED: &str = "#1f5fa8";
const POLLED: &str = "#2e8b57";
const MEDIAN: &str = "#1f5fa8";
const MOST: &str = "#e08214";
const WORST: &str = "#c0392b";
/// One after another for the names of faults, in the order of their first injection.
const FAULTS: [&str; 8] =
    ["#c0392b", "#8e44ad", "#e08214", "#16807a", "#7f6000", "#d6338a", "#5b6770", "#3b5bdb"];

/// The picture; a whole SVG file.
pub fn svg(timeline: &Timeline) -> String {
    let mut out = String::new();
    draw(&mut out, timeline).expect("a string takes all that is written");
    out
}

/// Where time lies.
struct X {
    seconds: f64,
}

/// Where values lie in one panel.
struct Y {
    top: f64,
    least: f64,
    most: f64,
    logarithmic: bool,
}

impl X {
    fn at(&self, seconds: f64) -> f64 {
        LEFT + (RIGHT - LEFT) * (seconds / self.seconds).clamp(0.0, 1.0)
    }
}

impl Y {
    fn at(&self, value: f64) -> f64 {
        let scale = |value: f64| if self.logarithmic { value.log10() } else { value };
        let (least, most) = (scale(self.least), scale(self.most));
        let value = scale(value.clamp(self.least, self.most));
        self.top + PANEL * (1.0 - (value - least) / (most - least))
    }
}

fn draw(out: &mut String, timeline: &Timeline) -> fmt::Result {
    let per = timeline.seconds.len().div_ceil(POINTS_MAX).max(1);
    let points: Vec<Second> = timeline.seconds.chunks(per).map(Second::sum).collect();
    let last = timeline.faults.iter().map(|fault| fault.to.unwrap_or(fault.from) / 1_000_000_000);
    let seconds = timeline.seconds.len().max(last.max().unwrap_or(0) as usize + 1).max(10);
    let x = X { seconds: seconds as f64 };
    let names = names(&timeline.faults);
    let rows = 64.0;
    let first = rows + ROW * names.len().max(1) as f64 + 34.0;
    let second = first + PANEL + GAP;
    let height = second + PANEL + 52.0;

    writeln!(
        out,
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" font-family="DejaVu Sans, Verdana, sans-serif" font-size="12" fill="#222">"##
    )?;
    writeln!(out, r##"<rect width="100%" height="100%" fill="#ffffff"/>"##)?;
    let title = format!("{} · seed {}", timeline.target, timeline.seed);
    writeln!(out, r#"<text x="{LEFT}" y="28" font-size="17">{}</text>"#, escaped(&title))?;
    writeln!(out, r#"<text x="{LEFT}" y="{}" font-weight="bold">Faults</text>"#, rows - 10.0)?;
    faults(out, &timeline.faults, &names, &x, rows, [first, second])?;

    let rate = |count: u64| count as f64 / per as f64;
    let acked: Vec<_> = points.iter().map(|point| Some(rate(point.acked))).collect();
    let polled: Vec<_> = points.iter().map(|point| Some(rate(point.polled))).collect();
    let most = acked.iter().chain(&polled).flatten().fold(1.0, |a: f64, b| a.max(*b));
    let y = Y { top: first, least: 0.0, most: nice(most / 4.0) * 4.0, logarithmic: false };
    let legend = [("polled records", POLLED), ("acknowledged sends", ACKED)];
    panel(out, "Throughput", &legend, "per second", &x, &y)?;
    line(out, &polled, POLLED, per, &x, &y)?;
    line(out, &acked, ACKED, per, &x, &y)?;

    let share = |share: f64| {
        let of = move |point: &Second| point.latency.quantile(share).map(|time| time as f64 / 1e6);
        points.iter().map(of).collect::<Vec<_>>()
    };
    let (median, most, worst) = (share(0.5), share(0.99), share(1.0));
    let highest = worst.iter().flatten().fold(100.0, |a: f64, b| a.max(*b));
    let lowest = median.iter().flatten().fold(1.0, |a: f64, b| a.min(*b)).max(0.01);
    let decade = |value: f64| 10f64.powf(value);
    let (least, most_y) = (decade(lowest.log10().floor()), decade(highest.log10().ceil()));
    let y = Y { top: second, least, most: most_y, logarithmic: true };
    let legend = [("slowest", WORST), ("99th percentile", MOST), ("median", MEDIAN)];
    panel(out, "Latency of acknowledged sends", &legend, "milliseconds", &x, &y)?;
    line(out, &worst, WORST, per, &x, &y)?;
    line(out, &most, MOST, per, &x, &y)?;
    line(out, &median, MEDIAN, per, &x, &y)?;
    let (middle, below) = ((LEFT + RIGHT) / 2.0, second + PANEL + 40.0);
    writeln!(
        out,
        r#"<text x="{middle}" y="{below}" text-anchor="middle">seconds since the run began</text>"#
    )?;
    writeln!(out, "</svg>")
}

/// The names of the faults, in the order of their first injection.
fn names(faults: &[Fault]) -> Vec<&str> {
    let mut names: Vec<&str> = vec![];
    for fault in faults {
        if !names.contains(&fault.name.as_str()) {
            names.push(&fault.name);
        }
    }
    names
}

/// A row of marks for each name, and a band through each panel for each fault.
fn faults(
    out: &mut String,
    faults: &[Fault],
    names: &[&str],
    x: &X,
    rows: f64,
    panels: [f64; 2],
) -> fmt::Result {
    if names.is_empty() {
        let y = rows + 13.0;
        return writeln!(out, r##"<text x="{LEFT}" y="{y}" fill="#777">none</text>"##);
    }
    for (row, name) in names.iter().enumerate() {
        let (colour, top) = (FAULTS[row % FAULTS.len()], rows + ROW * row as f64);
        let (middle, text) = (top + ROW / 2.0, top + 13.0);
        let those = faults.iter().filter(|fault| fault.name == *name);
        let label = format!("{name} ×{}", those.clone().count());
        let (label, end) = (escaped(&label), LEFT - 8.0);
        writeln!(
            out,
            r#"<text x="{end}" y="{text}" text-anchor="end" fill="{colour}" font-size="11">{label}</text>"#
        )?;
        writeln!(
            out,
            r##"<path d="M{LEFT} {middle}H{RIGHT}" stroke="#e3e3e3" stroke-width="1"/>"##
        )?;
        for fault in those {
            let from = x.at(fault.from as f64 / 1e9);
            let to = fault.to.map_or(RIGHT, |to| x.at(to as f64 / 1e9));
            let (width, mark) = ((to - from).max(1.0), (to - from).max(2.5));
            let detail = escaped(&format!("{name} {}", fault.detail));
            for top in panels {
                writeln!(
                    out,
                    r#"<rect x="{from:.1}" y="{top}" width="{width:.1}" height="{PANEL}" fill="{colour}" fill-opacity="0.13"/>"#
                )?;
            }
            let top = top + 3.0;
            writeln!(
                out,
                r#"<rect x="{from:.1}" y="{top}" width="{mark:.1}" height="{}" rx="1" fill="{colour}"><title>{detail}</title></rect>"#,
                ROW - 6.0
            )?;
        }
    }
    Ok(())
}

/// Frame, grid, labels, title and legend of a panel.
fn panel(
    out: &mut String,
    title: &str,
    legend: &[(&str, &str)],
    unit: &str,
    x: &X,
    y: &Y,
) -> fmt::Result {
    let (top, bottom, above) = (y.top, y.top + PANEL, y.top - 10.0);
    writeln!(out, r#"<text x="{LEFT}" y="{above}" font-weight="bold">{title}</text>"#)?;
    let mut right = RIGHT;
    for (name, colour) in legend {
        let text = right - name.chars().count() as f64 * LETTER;
        let (from, to, middle) = (text - 26.0, text - 8.0, above - 4.0);
        writeln!(out, r#"<text x="{text:.1}" y="{above}">{name}</text>"#)?;
        writeln!(
            out,
            r#"<path d="M{from:.1} {middle}H{to:.1}" stroke="{colour}" stroke-width="2.5"/>"#
        )?;
        right = from - 18.0;
    }
    for (value, label) in ticks(y) {
        let (at, text, end) = (y.at(value), y.at(value) + 4.0, LEFT - 8.0);
        writeln!(
            out,
            r##"<path d="M{LEFT} {at:.1}H{RIGHT}" stroke="#000" stroke-opacity="0.1"/>"##
        )?;
        writeln!(out, r#"<text x="{end}" y="{text:.1}" text-anchor="end">{label}</text>"#)?;
    }
    let step = nice(x.seconds / 14.0).max(1.0);
    for number in 0..=(x.seconds / step) as u64 {
        let value = number as f64 * step;
        let (at, below, text) = (x.at(value), bottom + 5.0, bottom + 18.0);
        writeln!(
            out,
            r##"<path d="M{at:.1} {bottom}V{below}" stroke="#555"/><text x="{at:.1}" y="{text}" text-anchor="middle">{value}</text>"##
        )?;
    }
    let (across, along) = (22.0, top + PANEL / 2.0);
    writeln!(
        out,
        r#"<text transform="translate({across} {along}) rotate(-90)" text-anchor="middle">{unit}</text>"#
    )?;
    writeln!(out, r##"<path d="M{LEFT} {top}V{bottom}H{RIGHT}" fill="none" stroke="#555"/>"##)
}

fn ticks(y: &Y) -> Vec<(f64, String)> {
    if y.logarithmic {
        let decades = y.least.log10().round() as i32..=y.most.log10().round() as i32;
        let label =
            |value: f64| if value < 1.0 { value.to_string() } else { grouped(value as u64) };
        return decades.map(|power| 10f64.powi(power)).map(|v| (v, label(v))).collect();
    }
    let step = y.most / 4.0;
    (0..=4).map(|number| number as f64 * step).map(|v| (v, grouped(v.round() as u64))).collect()
}

/// A line through the values; it is broken where there is none, and a lonely point is a short dash.
fn line(
    out: &mut String,
    values: &[Option<f64>],
    colour: &str,
    per: usize,
    x: &X,
    y: &Y,
) -> fmt::Result {
    let mut path = String::new();
    let mut drawing = false;
    for (index, value) in values.iter().enumerate() {
        let Some(value) = value else {
            drawing = false;
            continue;
        };
        let (from, at) = (x.at((index * per) as f64), y.at(*value));
        let to = x.at(((index + 1) * per) as f64);
        let middle = (from + to) / 2.0;
        let alone = !drawing && values.get(index + 1).copied().flatten().is_none();
        match (alone, drawing) {
            (true, _) => write!(path, "M{from:.1} {at:.1}H{to:.1}")?,
            (false, true) => write!(path, "L{middle:.1} {at:.1}")?,
            (false, false) => write!(path, "M{middle:.1} {at:.1}")?,
        }
        drawing = true;
    }
    writeln!(
        out,
        r#"<path d="{path}" fill="none" stroke="{colour}" stroke-width="1.4" stroke-linejoin="round"/>"#
    )
}

/// The next of 1, 2, 5, 10, 20 ... that is at least this.
fn nice(value: f64) -> f64 {
    let power = 10f64.powf(value.max(1e-9).log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0];
    let step = steps.into_iter().find(|step| step * power >= value * 0.999_999);
    step.unwrap_or(10.0) * power
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
