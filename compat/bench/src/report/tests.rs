use super::*;
use crate::outcome::Labels;

fn outcome(broker: &str, row: &str, round: u32, cpu_us: f64) -> Outcome {
    Outcome {
        labels: Labels { broker: broker.into(), row: row.into(), round },
        figures: Figures {
            requests: 10,
            seconds: 2.0,
            requests_per_s: 5.0,
            cpu_us_per_request: Some(cpu_us),
            client_cpu_s: 1.9,
            ..Figures::default()
        },
        ..Outcome::default()
    }
}

fn failed(broker: &str, row: &str, reason: &str) -> Outcome {
    Outcome { error: Some(reason.into()), ..outcome(broker, row, 1, 77.0) }
}

fn two_rounds() -> Results {
    let outcomes = [
        outcome("kafka", "small", 0, 1000.0),
        outcome("kafka", "small", 1, 24.0),
        outcome("kafka", "small", 2, 40.0),
        outcome("ottla", "small", 1, 12.0),
        outcome("ottla", "small", 2, 10.0),
        failed("tansu", "small", "no such topic"),
        failed("tansu", "small", "no such topic"),
        failed("kfake", "", "go is missing"),
    ];
    let column = |broker: &str| Column { broker: broker.into(), title: broker.to_uppercase() };
    let columns = ["kafka", "kfake", "tansu", "ottla"].map(column).to_vec();
    results(&outcomes, columns, "Yesterday.".into())
}

#[test]
fn medians_leave_out_the_warm_up_and_ratios_are_taken_within_a_round() {
    let results = two_rounds();
    let line = &results.lines[0];
    let Cell::Measured { summary, client_share } = line.cells[0] else { panic!("measured") };
    assert_eq!((summary.median, summary.least, summary.most), (32.0, 24.0, 40.0));
    assert_eq!(client_share, 0.95);
    assert_eq!(line.cells[1..3], [Cell::Nothing, Cell::Failed("failed")]);
    // (12/24 + 10/40) / 2
    let ratio = Ratio { of: "ottla".into(), to: "kafka".into(), value: 0.375 };
    assert_eq!(line.ratios, [ratio]);
}

#[test]
fn the_tables_say_what_was_measured_and_what_was_not() {
    let text = markdown::tables(&two_rounds());
    for line in [
        "Yesterday.",
        "| | Unit | KAFKA | KFAKE | TANSU | OTTLA | ottla : kafka |",
        "|---|---|--:|--:|--:|--:|--:|",
        "| produce, 1 record of 100 B a request, 16 connections x 1 in flight | CPU us | **32.0** (24.0-40.0) |  | failed | **11.0** (10.0-12.0) | 0.38 |",
        "| produce, 1 record of 100 B a request, 16 connections x 1 in flight | requests/s | **5.00**\\* (5.00-5.00) |  | failed | **5.00**\\* (5.00-5.00) | 1.00 |",
        "- kfake, all: go is missing",
        "- tansu, small: no such topic",
    ] {
        assert!(text.lines().any(|it| it == line), "{line}\nis not in\n{text}");
    }
    assert_eq!(text.matches("no such topic").count(), 1);
    assert!(!text.contains("fetch what was written"), "nobody tried");
}

#[test]
fn the_picture_has_bars_as_long_as_their_share_and_cuts_what_is_far_longer() {
    let picture = chart::svg(&two_rounds());
    assert_eq!(picture.matches("<rect x=").count(), 2, "one panel, two brokers were measured");
    // Kafka's is the longest: 380 - 104 - 76 - 24.
    assert!(picture.contains(r#"width="176.0""#), "{picture}");
    assert!(picture.contains(&format!(r#"width="{:.1}""#, 176.0 * 11.0 / 32.0)), "{picture}");
    assert!(picture.contains(">failed</text>") && picture.contains(">-</text>"));
    assert!(picture.starts_with("<svg ") && picture.ends_with("</svg>\n"));
    assert_eq!(picture.matches("<text").count(), picture.matches("</text>").count());

    let outcomes = [outcome("kafka", "small", 1, 10.0), outcome("tansu", "small", 1, 41.0)];
    let column = |broker: &str| Column { broker: broker.into(), title: broker.into() };
    let results = results(&outcomes, ["kafka", "tansu"].map(column).to_vec(), String::new());
    let picture = chart::svg(&results);
    assert_eq!(picture.matches(r#"width="176.0""#).count(), 2, "{picture}");
    assert!(picture.contains(">41.0, cut</text>"), "{picture}");
}
