//! One setting: its name, type, default and check, and how a value is read. Shared by broker and topic settings.
//!
//! Values are kept as text in the form Kafka shows them (`ConfigDef.convertToString`), because that is what DescribeConfigs
//! answers; whoever uses a value converts it once. Texts of refusals are Kafka's (`ConfigDef`, `ConfigException`), because
//! clients and tests see them.

use Type::{Boolean, Class, Double, Int, List, Long, Password, Short, Text};
use std::fmt::Display;

/// Kafka's types of settings; `code` is DescribeConfigs' number of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    Boolean,
    Text,
    Int,
    Short,
    Long,
    Double,
    List,
    Class,
    Password,
}

impl Type {
    /// As in DescribeConfigs v3+ (KIP-569).
    pub fn code(self) -> i8 {
        match self {
            Boolean => 1,
            Text => 2,
            Int => 3,
            Short => 4,
            Long => 5,
            Double => 6,
            List => 7,
            Class => 8,
            Password => 9,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Boolean => "BOOLEAN",
            Text => "STRING",
            Int => "INT",
            Short => "SHORT",
            Long => "LONG",
            Double => "DOUBLE",
            List => "LIST",
            Class => "CLASS",
            Password => "PASSWORD",
        }
    }
}

/// What a value must satisfy beside its type. Ranges are inclusive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Check {
    Any,
    AtLeast(i64),
    Between(i64, i64),
    /// 1 to 9, or -1.
    GzipLevel,
    /// The text, or each element of the list.
    OneOf(&'static [&'static str]),
    OneOfIgnoringCase(&'static [&'static str]),
    /// `*`, or pairs `partition:broker`; elements may be empty.
    ThrottledReplicas,
    /// `earliest`, `latest`, or `by_duration:` and a duration as ISO 8601 writes it.
    OffsetReset,
}

/// One setting of the broker or of a topic.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Setting {
    pub name: &'static str,
    pub kind: Type,
    /// None: null.
    pub default: Option<&'static str>,
    pub check: Check,
    /// Whether it changes anything in this version.
    pub effect: bool,
    /// Whether Kafka lets it be changed while the broker runs: DescribeConfigs shows the others as read-only.
    pub dynamic: bool,
    /// Known, but not shown by DescribeConfigs unless it is set.
    pub internal: bool,
    pub doc: &'static str,
}

/// What DescribeConfigs says of settings that are there for compatibility only.
pub const NO_EFFECT: &str = "Accepted because Kafka knows it; without effect in this version.";

/// A setting with effect.
pub const fn on(
    name: &'static str,
    kind: Type,
    default: Option<&'static str>,
    check: Check,
    doc: &'static str,
) -> Setting {
    Setting { name, kind, default, check, effect: true, dynamic: false, internal: false, doc }
}

/// A setting that Kafka knows and that has no effect here.
pub const fn off(
    name: &'static str,
    kind: Type,
    default: Option<&'static str>,
    check: Check,
) -> Setting {
    let doc = NO_EFFECT;
    Setting { name, kind, default, check, effect: false, dynamic: false, internal: false, doc }
}

impl Setting {
    pub const fn dynamic(mut self) -> Setting {
        self.dynamic = true;
        self
    }

    pub const fn internal(mut self) -> Setting {
        self.internal = true;
        self
    }

    pub fn is_list(&self) -> bool {
        self.kind == List
    }

    /// Whether its value must not be shown.
    pub fn sensitive(&self) -> bool {
        self.kind == Password
    }

    /// Checks `text` and brings it into the form Kafka shows. The error is Kafka's sentence, the setting's name in it.
    pub fn read(&self, text: &str) -> Result<String, String> {
        let value = self.typed(text.trim()).map_err(|why| self.bad(text, why))?;
        self.check(&value)?;
        Ok(value)
    }

    /// The error is the reason alone.
    fn typed(&self, text: &str) -> Result<String, String> {
        let not_a_number = || format!("Not a number of type {}", self.kind.name());
        Ok(match self.kind {
            Boolean if text.eq_ignore_ascii_case("true") => "true".into(),
            Boolean if text.eq_ignore_ascii_case("false") => "false".into(),
            Boolean => return Err("Expected value to be either true or false".into()),
            Short => text.parse::<i16>().map_err(|_| not_a_number())?.to_string(),
            Int => text.parse::<i32>().map_err(|_| not_a_number())?.to_string(),
            Long => text.parse::<i64>().map_err(|_| not_a_number())?.to_string(),
            Double => java_double(
                text.trim_end_matches(['f', 'F', 'd', 'D']).parse().map_err(|_| not_a_number())?,
            ),
            List if text.is_empty() => String::new(),
            List => text.split(',').map(str::trim).collect::<Vec<_>>().join(","),
            Text | Class | Password => text.into(),
        })
    }

    fn check(&self, value: &str) -> Result<(), String> {
        match self.check {
            Check::Any => Ok(()),
            Check::AtLeast(least) => self.at_least(value, least),
            Check::Between(least, most) => {
                self.at_least(value, least)?;
                if number(value) > most as f64 {
                    return Err(self.bad(value, format!("Value must be no more than {most}")));
                }
                Ok(())
            }
            Check::GzipLevel => match number(value) as i64 {
                -1 | 1..=9 => Ok(()),
                _ => Err(self.bad(value, "Value must be between 1 and 9 or equal to -1")),
            },
            Check::OneOf(allowed) => self.one_of(value, |item| allowed.contains(&item), allowed),
            Check::OneOfIgnoringCase(allowed) => {
                let known = |item: &str| allowed.iter().any(|a| a.eq_ignore_ascii_case(item));
                self.one_of(value, known, allowed)
            }
            Check::ThrottledReplicas => {
                let filled = || list(value).map(str::trim).filter(|item| !item.is_empty());
                if filled().eq(["*"]) || filled().all(is_replica) {
                    return Ok(());
                }
                let shown = format!("[{}]", value.replace(',', ", "));
                let name = self.name;
                Err(self.bad(
                    &shown,
                    format!(
                        "{name} must be the literal '*' or a list of replicas in the following format: \
                         [partitionId]:[brokerId],[partitionId]:[brokerId],..."
                    ),
                ))
            }
            Check::OffsetReset => {
                let duration = value.strip_prefix("by_duration:");
                if ["earliest", "latest"].contains(&value) || duration.is_some_and(is_duration) {
                    return Ok(());
                }
                let name = self.name;
                Err(self.bad(
                    value,
                    format!(
                        "Invalid value `{value}` for configuration {name}. The value must be either \
                         'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'."
                    ),
                ))
            }
        }
    }

    fn at_least(&self, value: &str, least: i64) -> Result<(), String> {
        // Doubles are exact far beyond every bound in the tables, so one comparison serves all number types.
        if number(value) < least as f64 {
            return Err(self.bad(value, format!("Value must be at least {least}")));
        }
        Ok(())
    }

    fn one_of(
        &self,
        value: &str,
        known: impl Fn(&str) -> bool,
        allowed: &[&str],
    ) -> Result<(), String> {
        let refuse = |item: &str| {
            let ignoring = matches!(self.check, Check::OneOfIgnoringCase(_));
            let how = if ignoring {
                "String must be one of (case insensitive):"
            } else {
                "String must be one of:"
            };
            Err(self.bad(item, format!("{how} {}", allowed.join(", "))))
        };
        if self.kind != List {
            return if known(value) { Ok(()) } else { refuse(value) };
        }
        list(value).find(|item| !known(item)).map_or(Ok(()), refuse)
    }

    fn bad(&self, value: &str, why: impl Display) -> String {
        format!("Invalid value {value} for configuration {}: {why}", self.name)
    }
}

/// The elements of a list in canonical form; none of an empty text.
pub fn list(value: &str) -> impl Iterator<Item = &str> {
    value.split(',').filter(|_| !value.is_empty())
}

fn is_replica(pair: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    pair.split_once(':').is_some_and(|(partition, broker)| digits(partition) && digits(broker))
}

/// Whether `text` is a duration `PnDTnHnMn.nS`, not negative; each part may be missing, not all of them.
fn is_duration(text: &str) -> bool {
    let text = text.to_ascii_uppercase();
    let Some(rest) = text.strip_prefix('P') else { return false };
    let (days, time) = rest.split_once('T').map_or((rest, None), |(days, time)| (days, Some(time)));
    let units = |mut text: &str, units: &[char]| {
        let mut parts = 0;
        for unit in units {
            let Some((number, rest)) = text.split_once(*unit) else { continue };
            let (whole, fraction) = number.split_once(['.', ',']).unwrap_or((number, ""));
            let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
            let fits = fraction.is_empty() || (*unit == 'S' && fraction.len() <= 9);
            if whole.is_empty() || whole.len() > 18 || !digits(whole) || !digits(fraction) || !fits
            {
                return None;
            }
            parts += 1;
            text = rest;
        }
        text.is_empty().then_some(parts)
    };
    match (units(days, &['D']), time.map(|time| units(time, &['H', 'M', 'S']))) {
        (Some(days), None) => days > 0,
        (Some(_), Some(Some(parts))) => parts > 0,
        _ => false,
    }
}

/// A number of any type that `typed` has let through.
fn number(value: &str) -> f64 {
    value.parse().unwrap_or(f64::NAN)
}

/// `Double.toString` of Java.
fn java_double(value: f64) -> String {
    let size = value.abs();
    if value.is_nan() {
        "NaN".into()
    } else if value.is_infinite() {
        if value > 0.0 { "Infinity".into() } else { "-Infinity".into() }
    } else if size != 0.0 && !(1e-3..1e7).contains(&size) {
        let text = format!("{value:e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let point = if digits.contains('.') { "" } else { ".0" };
        format!("{digits}{point}E{exponent}")
    } else {
        format!("{value:?}")
    }
}
