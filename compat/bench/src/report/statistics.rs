//! Medians, spreads, and how figures are written.

use serde::Serialize;

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Summary {
    pub median: f64,
    pub least: f64,
    pub most: f64,
    /// How many rounds have a figure.
    pub rounds: usize,
}

impl Summary {
    /// None of no values.
    pub fn of(mut values: Vec<f64>) -> Option<Summary> {
        values.sort_by(f64::total_cmp);
        let (least, most) = (*values.first()?, *values.last()?);
        let (half, rounds) = (values.len() / 2, values.len());
        let median = match rounds % 2 {
            0 => (values[half - 1] + values[half]) / 2.0,
            _ => values[half],
        };
        Some(Summary { median, least, most, rounds })
    }
}

/// A figure in two or three digits, thousands apart.
pub fn figure(value: f64) -> String {
    let decimals = match value.abs() {
        0.0 => 0,
        ..0.0095 => 4,
        ..0.095 => 3,
        ..9.95 => 2,
        ..99.5 => 1,
        _ => 0,
    };
    let text = format!("{value:.decimals$}");
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut grouped = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) && digit.is_ascii_digit() {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle_and_the_spread_at_the_ends() {
        let summary = |values: &[f64]| {
            Summary::of(values.to_vec()).map(|it| (it.median, it.least, it.most, it.rounds))
        };
        assert_eq!(summary(&[]), None);
        assert_eq!(summary(&[4.0]), Some((4.0, 4.0, 4.0, 1)));
        assert_eq!(summary(&[9.0, 1.0, 2.0]), Some((2.0, 1.0, 9.0, 3)));
        assert_eq!(summary(&[9.0, 1.0, 2.0, 4.0]), Some((3.0, 1.0, 9.0, 4)));
    }

    #[test]
    fn figures_have_the_digits_that_count() {
        for (value, text) in [
            (0.0, "0"),
            (0.001_234, "0.0012"),
            (0.0123, "0.012"),
            (0.2734, "0.27"),
            (9.951, "10.0"),
            (24.66, "24.7"),
            (999.6, "1,000"),
            (1_234_567.0, "1,234,567"),
        ] {
            assert_eq!(figure(value), text);
        }
    }
}
