//! What the user has set, over the defaults: each value in canonical form, with the place it came from. Over both lies what
//! was set while the broker runs (`dynamic`).

use super::{
    dynamic::{self, Level},
    setting::{self, Setting},
    settings,
};
use std::{collections::BTreeMap, fmt};

/// Where a value was given, for messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// By the program itself.
    Program,
    File {
        path: String,
        /// From 1; None when the key does not stand at the start of a line.
        line: Option<usize>,
    },
    /// An environment variable.
    Environment(String),
    /// A command-line argument, as `--set`.
    Argument(&'static str),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Program => f.write_str("configuration"),
            Place::File { path, line: Some(line) } => write!(f, "{path}, line {line}"),
            Place::File { path, line: None } => f.write_str(path),
            Place::Environment(variable) => write!(f, "environment variable {variable}"),
            Place::Argument(argument) => f.write_str(argument),
        }
    }
}

/// The setting at fault, and why it is refused.
pub(super) type Refusal = (&'static str, String);

/// Every broker setting's value. Later values replace earlier ones.
#[derive(Debug, Clone)]
pub struct Values {
    dev: bool,
    given: BTreeMap<&'static str, (String, Place)>,
    /// By `Level`.
    dynamic: [BTreeMap<String, Dynamic>; 2],
}

/// A value that was set while the broker runs.
#[derive(Debug, Clone)]
struct Dynamic {
    /// As it was set.
    text: String,
    /// The same in canonical form.
    value: String,
}

impl Values {
    pub fn new(dev: bool) -> Values {
        Values { dev, given: BTreeMap::new(), dynamic: Default::default() }
    }

    /// Replaces what was set at `level` while the broker runs. Values that `dynamic` would refuse are passed over.
    pub fn set_dynamic(&mut self, level: Level, texts: &BTreeMap<String, String>) {
        let read = |(name, text): (&String, &String)| {
            let value = dynamic::read(name, text).ok()?;
            Some((name.clone(), Dynamic { text: text.clone(), value }))
        };
        self.dynamic[level as usize] = texts.iter().filter_map(read).collect();
    }

    /// The text that was set at `level` while the broker runs.
    pub fn dynamic(&self, level: Level, name: &str) -> Option<&str> {
        self.dynamic[level as usize].get(name).map(|it| it.text.as_str())
    }

    /// Name and text of all that was set at `level` while the broker runs, in name order.
    pub fn all_dynamic(&self, level: Level) -> impl Iterator<Item = (&str, &str)> {
        self.dynamic[level as usize].iter().map(|(name, it)| (name.as_str(), it.text.as_str()))
    }

    /// Sets `setting`. The error says why the value is refused, the setting's name in it.
    pub fn set(
        &mut self,
        setting: &'static Setting,
        text: &str,
        place: Place,
    ) -> Result<(), String> {
        let value = setting.read(text)?;
        self.given.insert(setting.name, (value, place));
        Ok(())
    }

    /// The value in effect: this broker's dynamic one, the cluster's, the one given at start, the default. None: null, or no
    /// such setting.
    pub fn get(&self, name: &str) -> Option<&str> {
        let dynamic = self.dynamic.iter().find_map(|level| level.get(name));
        let dynamic = dynamic.map(|it| it.value.as_str());
        dynamic.or_else(|| self.given(name)).or_else(|| self.default_of(name))
    }

    /// The value somebody gave at start.
    pub fn given(&self, name: &str) -> Option<&str> {
        self.given.get(name).map(|(value, _)| value.as_str())
    }

    /// The value when nobody gives one.
    pub fn default_of(&self, name: &str) -> Option<&'static str> {
        settings::find(name).and_then(|setting| settings::default_of(setting, self.dev))
    }

    /// Where the value was given.
    pub fn place(&self, name: &str) -> Place {
        self.given.get(name).map_or(Place::Program, |(_, place)| place.clone())
    }

    /// The settings somebody gave, in name order.
    pub fn all_given(&self) -> impl Iterator<Item = (&'static str, &Place)> {
        self.given.iter().map(|(name, (_, place))| (*name, place))
    }

    /// The value of a number setting, None when it is null.
    pub fn number(&self, name: &str) -> Option<i64> {
        self.get(name).map(|value| value.parse().expect("checked when set, and so are defaults"))
    }

    /// The value of an INT setting that is never null.
    pub fn int(&self, name: &str) -> i32 {
        let value = self.long(name);
        i32::try_from(value).expect("INT settings are checked to be in range")
    }

    /// The value of a number setting that is never null.
    pub fn long(&self, name: &str) -> i64 {
        self.number(name).expect("a number setting with a default")
    }

    pub fn flag(&self, name: &str) -> bool {
        self.get(name) == Some("true")
    }

    /// The elements of a comma-separated setting; none when it is null or empty.
    pub fn list(&self, name: &str) -> Vec<&str> {
        let items = setting::list(self.get(name).unwrap_or_default()).map(str::trim);
        items.filter(|item| !item.is_empty()).collect()
    }
}
