//! What a scenario found: one JSON line, which `report` reads again. A figure that does not apply is left out.

use crate::{
    clock,
    server::{Reading, Server},
};
use anyhow::Result;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// Latencies in nanoseconds, to three digits.
pub type Latencies = Histogram<u64>;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Outcome {
    pub labels: Labels,
    pub scenario: String,
    #[serde(skip_serializing_if = "serde_json::Value::is_null")]
    pub parameters: serde_json::Value,
    /// Why there are no figures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(flatten)]
    pub figures: Figures,
}

/// Where the figures belong: given to the program, passed on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, clap::Args)]
#[serde(default)]
pub struct Labels {
    /// The broker's name in the report.
    #[arg(long, global = true, default_value = "")]
    pub broker: String,
    /// The row of the report.
    #[arg(long, global = true, default_value = "")]
    pub row: String,
    /// Round 0 is the warm-up, which the report leaves out.
    #[arg(long, global = true, default_value_t = 1)]
    pub round: u32,
}

/// GB and MB are powers of ten; bytes are those of record batches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Figures {
    pub requests: u64,
    pub bytes: u64,
    /// By the clock on the wall.
    pub seconds: f64,
    pub requests_per_s: f64,
    pub mb_per_s: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_us_per_request: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_s_per_gb: Option<f64>,
    /// CPU time of this program, to see whether it was the limit.
    pub client_cpu_s: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rss_mb_before: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rss_mb_after: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<LatencyMs>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct LatencyMs {
    pub p50: f64,
    pub p99: f64,
    pub p999: f64,
    pub max: f64,
}

/// A measurement that has begun.
pub struct Stopwatch {
    server: Option<Server>,
    before: Option<Reading>,
    own: Reading,
    began: Instant,
}

impl Stopwatch {
    pub fn start(server: Option<Server>) -> Result<Stopwatch> {
        let before = server.map(Server::read).transpose()?;
        Ok(Stopwatch { server, before, own: Server::own().read()?, began: clock::now() })
    }

    pub fn began(&self) -> Instant {
        self.began
    }

    pub fn stop(self, requests: u64, bytes: u64, latencies: &Latencies) -> Result<Figures> {
        let took = clock::now() - self.began;
        let after = self.server.map(Server::read).transpose()?;
        let client_cpu_s = Server::own().read()?.cpu_s - self.own.cpu_s;
        let cpu_s = after.zip(self.before).map(|(after, before)| after.cpu_s - before.cpu_s);
        Ok(Figures {
            rss_mb_before: self.before.map(|reading| reading.rss_mb),
            rss_mb_after: after.map(|reading| reading.rss_mb),
            latency_ms: LatencyMs::of(latencies),
            client_cpu_s,
            ..Figures::new(took, requests, bytes, cpu_s)
        })
    }
}

impl Figures {
    fn new(took: Duration, requests: u64, bytes: u64, cpu_s: Option<f64>) -> Figures {
        let seconds = took.as_secs_f64();
        let per = |what: f64, count: f64| if count > 0.0 { what / count } else { 0.0 };
        let some = |count: u64| cpu_s.filter(|_| count > 0);
        Figures {
            requests,
            bytes,
            seconds,
            requests_per_s: per(requests as f64, seconds),
            mb_per_s: per(bytes as f64 / 1e6, seconds),
            cpu_s,
            cpu_us_per_request: some(requests).map(|cpu| cpu * 1e6 / requests as f64),
            cpu_s_per_gb: some(bytes).map(|cpu| cpu * 1e9 / bytes as f64),
            ..Figures::default()
        }
    }

    /// One span of time and nothing else.
    pub fn time(took: Duration) -> Figures {
        Figures::new(took, 0, 0, None)
    }
}

impl LatencyMs {
    pub fn of(latencies: &Latencies) -> Option<LatencyMs> {
        let at = |share| latencies.value_at_quantile(share) as f64 / 1e6;
        let max = latencies.max() as f64 / 1e6;
        let some = LatencyMs { p50: at(0.5), p99: at(0.99), p999: at(0.999), max };
        (!latencies.is_empty()).then_some(some)
    }
}

/// An empty histogram, up to two minutes.
pub fn latencies() -> Latencies {
    Histogram::new_with_bounds(1, 120_000_000_000, 3).expect("bounds and digits that exist")
}

/// Adds one latency; longer ones count as the longest.
pub fn record(latencies: &mut Latencies, latency: Duration) {
    latencies.saturating_record(clock::nanoseconds(latency));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_request_and_a_gigabyte_cost() {
        let figures = Figures::new(Duration::from_secs(2), 1000, 500_000_000, Some(1.5));
        let expected = (500.0, 250.0, Some(1500.0), Some(3.0));
        let Figures { requests_per_s, mb_per_s, cpu_us_per_request, cpu_s_per_gb, .. } = figures;
        assert_eq!((requests_per_s, mb_per_s, cpu_us_per_request, cpu_s_per_gb), expected);
        let nothing = Figures::new(Duration::ZERO, 0, 0, Some(1.5));
        assert_eq!((nothing.requests_per_s, nothing.cpu_us_per_request), (0.0, None));
    }

    #[test]
    fn latencies_are_milliseconds_of_a_share() {
        let mut all = latencies();
        for ms in 1..=1000 {
            record(&mut all, Duration::from_millis(ms));
        }
        let LatencyMs { p50, p99, p999, max } = LatencyMs::of(&all).unwrap();
        for (got, expected) in [(p50, 500.0), (p99, 990.0), (p999, 999.0), (max, 1000.0)] {
            assert!((got / expected - 1.0).abs() < 0.002, "{got} instead of {expected}");
        }
        assert_eq!(LatencyMs::of(&latencies()), None);
    }

    #[test]
    fn a_line_comes_back_as_it_was() {
        let outcome = Outcome {
            labels: Labels { broker: "kafka".into(), row: "fetch".into(), round: 3 },
            scenario: "fetch".into(),
            figures: Figures::new(Duration::from_secs(1), 10, 20, None),
            ..Outcome::default()
        };
        let line = serde_json::to_string(&outcome).unwrap();
        assert!(!line.contains("null") && !line.contains('\n'), "{line}");
        assert_eq!(serde_json::from_str::<Outcome>(&line).unwrap(), outcome);
    }
}
