//! What a run was and what it proved, as text for a terminal or a CI log.

use crate::{
    tally::Outcomes,
    timeline::{Pause, Timeline},
    verdict::Verdict,
};
use std::{
    collections::BTreeMap,
    fmt::{self, Write},
};

/// The report, lines of at most about 120 characters, particulars of anomalies longer.
pub fn text(verdict: &Verdict, timeline: &Timeline) -> String {
    let mut out = String::new();
    write(&mut out, verdict, timeline).expect("a string takes all that is written");
    out
}

fn write(out: &mut String, verdict: &Verdict, timeline: &Timeline) -> fmt::Result {
    let tally = &verdict.tally;
    let total: u64 = verdict.totals.values().sum();
    writeln!(out, "{}", timeline.target)?;
    let (events, seconds) = (grouped(tally.events), seconds(tally.duration));
    writeln!(out, "seed {}, {seconds} s, {events} events", timeline.seed)?;
    match total {
        0 => writeln!(out, "NO ANOMALY")?,
        1 => writeln!(out, "ONE ANOMALY")?,
        _ => writeln!(out, "{} ANOMALIES", grouped(total))?,
    }
    anomalies(out, verdict)?;
    operations(out, verdict)?;
    figures(out, verdict, timeline)?;
    faults(out, timeline)
}

fn anomalies(out: &mut String, verdict: &Verdict) -> fmt::Result {
    for (kind, total) in &verdict.totals {
        writeln!(out, "\n{kind}: {}", grouped(*total))?;
        let kept = verdict.anomalies.iter().filter(|anomaly| anomaly.kind == *kind);
        let mut shown = 0;
        for anomaly in kept {
            writeln!(out, "  {anomaly}")?;
            shown += 1;
        }
        if shown < *total {
            writeln!(out, "  and {} more", grouped(total - shown))?;
        }
    }
    Ok(())
}

fn operations(out: &mut String, verdict: &Verdict) -> fmt::Result {
    let names = ["operations", "ok", "fail", "unknown", "never completed"];
    let [name, ok, fail, unknown, open] = names;
    writeln!(out, "\n{name:<12}{ok:>13}{fail:>13}{unknown:>13}{open:>17}")?;
    for (name, Outcomes { ok, fail, unknown, open }) in &verdict.tally.operations {
        let [ok, fail, unknown, open] = [ok, fail, unknown, open].map(|count| grouped(*count));
        writeln!(out, "  {name:<10}{ok:>13}{fail:>13}{unknown:>13}{open:>17}")?;
    }
    Ok(())
}

fn figures(out: &mut String, verdict: &Verdict, timeline: &Timeline) -> fmt::Result {
    writeln!(out, "\nfigures")?;
    writeln!(out, "  records polled: {}", grouped(verdict.tally.polled))?;
    if let (Some(median), Some(most)) =
        (timeline.latency.quantile(0.5), timeline.latency.quantile(0.99))
    {
        let max = timeline.latency.max;
        let [median, most, max] =
            [median, most, max].map(|time| format!("{:.1} ms", time as f64 / 1e6));
        writeln!(
            out,
            "  latency of sends: median {median}, 99th percentile {most}, slowest {max}"
        )?;
    }
    match &verdict.stalest {
        None => writeln!(out, "  no poll was stale")?,
        Some(stale) => writeln!(
            out,
            "  worst staleness: {} s, value {} of {}, polled by process {} at {} s (op {})",
            seconds(stale.nanoseconds),
            stale.value,
            stale.partition,
            stale.process,
            seconds(stale.invoked),
            stale.op
        )?,
    }
    let pauses =
        [("acknowledged send", timeline.sends_stalled), ("polled record", timeline.polls_stalled)];
    for (what, Pause { from, length }) in pauses {
        let (length, from) = (seconds(length), seconds(from));
        writeln!(out, "  longest time without progress: {length} s without {what}, from {from} s")?;
    }
    Ok(())
}

fn faults(out: &mut String, timeline: &Timeline) -> fmt::Result {
    let mut names: BTreeMap<&str, u64> = BTreeMap::new();
    for fault in &timeline.faults {
        *names.entry(&fault.name).or_default() += 1;
    }
    let names: Vec<_> = names.iter().map(|(name, count)| format!("{count} {name}")).collect();
    writeln!(out, "\nfaults: {}", if names.is_empty() { "none".into() } else { names.join(", ") })?;
    for fault in &timeline.faults {
        let lasted = match fault.to {
            Some(to) => format!("{} s", seconds(to - fault.from)),
            None => "not healed".into(),
        };
        let line = format!("{:>10} s {lasted:>12}  {}", seconds(fault.from), fault.name);
        writeln!(out, "{} {}", line, fault.detail)?;
    }
    Ok(())
}

fn seconds(nanoseconds: u64) -> String {
    format!("{:.3}", nanoseconds as f64 / 1e9)
}

/// 1234567 as 1,234,567.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
