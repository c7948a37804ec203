//! Where settings come from, lowest to highest: defaults, the file, the environment, `--set`, `--listen` and `--log-dir`.
//!
//! Everything is checked here, once, before anything is opened. Not here: what a setting means (`Config`).

use super::{
    Config, settings,
    values::{Place, Values},
};
use serde_yaml::Value;
use std::{fs, path::PathBuf};

/// What the command line and the environment say.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// `--dev`: test-friendly defaults.
    pub dev: bool,
    /// `--config`
    pub file: Option<PathBuf>,
    /// All of it; only names that begin with `OTTLA_` are looked at.
    pub environment: Vec<(String, String)>,
    /// `--set name=value`, in order.
    pub set: Vec<String>,
    /// `--listen HOST:PORT`
    pub listen: Option<String>,
    /// `--log-dir`
    pub log_dir: Option<PathBuf>,
    /// `--accept-data-loss`
    pub accept_data_loss: bool,
}

/// Why a configuration is refused. Each is one line that names what to change.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    #[error("{path}: {reason}")]
    File { path: String, reason: String },
    #[error("{place}: unknown setting `{name}`{}", hint(.nearest))]
    Unknown { place: Place, name: String, nearest: Option<String> },
    /// The reason names the setting.
    #[error("{place}: {reason}")]
    Bad { place: Place, reason: String },
}

impl Sources {
    pub(super) fn read(&self) -> Result<Values, ConfigError> {
        let mut values = Values::new(self.dev);
        if let Some(path) = &self.file {
            let shown = path.display().to_string();
            let text = fs::read_to_string(path).map_err(|error| ConfigError::File {
                path: shown.clone(),
                reason: error.to_string(),
            })?;
            read_file(&mut values, &shown, &text)?;
        }
        read_environment(&mut values, &self.environment)?;
        for argument in &self.set {
            let place = Place::Argument("--set");
            let Some((name, value)) = argument.split_once('=') else {
                let reason = format!("`{argument}` is not name=value");
                return Err(ConfigError::Bad { place, reason });
            };
            set(&mut values, name.trim(), value, place)?;
        }
        if let Some(listen) = &self.listen {
            let place = Place::Argument("--listen");
            super::listener::split_host_port(listen)
                .map_err(|reason| ConfigError::Bad { place: place.clone(), reason })?;
            set(&mut values, "listeners", &format!("PLAINTEXT://{listen}"), place)?;
        }
        if let Some(dir) = &self.log_dir {
            let place = Place::Argument("--log-dir");
            let Some(dir) = dir.to_str() else {
                let reason = format!("{} is not UTF-8", dir.display());
                return Err(ConfigError::Bad { place, reason });
            };
            set(&mut values, "log.dirs", dir, place)?;
        }
        Ok(values)
    }
}

impl Config {
    /// Reads and checks everything `sources` name.
    pub fn load(sources: &Sources) -> Result<Config, ConfigError> {
        let config = Config::from_values(sources.read()?, sources.dev)?;
        Ok(Config { accept_data_loss: sources.accept_data_loss, ..config })
    }
}

/// Sets one setting by name.
pub(super) fn set(
    values: &mut Values,
    name: &str,
    text: &str,
    place: Place,
) -> Result<(), ConfigError> {
    let Some(setting) = settings::find(name) else {
        let nearest = settings::nearest(name).map(str::to_owned);
        return Err(ConfigError::Unknown { place, name: name.to_owned(), nearest });
    };
    values.set(setting, text, place.clone()).map_err(|reason| ConfigError::Bad { place, reason })
}

/// A flat map of Kafka's dotted names.
fn read_file(values: &mut Values, path: &str, text: &str) -> Result<(), ConfigError> {
    let whole = |reason: String| ConfigError::File { path: path.to_owned(), reason };
    let yaml: Value = serde_yaml::from_str(text).map_err(|error| whole(one_line(&error)))?;
    let entries = match yaml {
        Value::Null => return Ok(()),
        Value::Mapping(entries) => entries,
        _ => return Err(whole("must be a map of settings, `name: value`".into())),
    };
    for (key, value) in &entries {
        let name = match key {
            Value::String(name) => name.clone(),
            other => return Err(whole(format!("{} is not a setting's name", shown(other)))),
        };
        let place = Place::File { path: path.to_owned(), line: line_of(text, &name) };
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Bool(flag) => flag.to_string(),
            Value::Number(number) => number.to_string(),
            Value::Null => {
                let reason = format!("`{name}` has no value (\"\" is the empty one)");
                return Err(ConfigError::Bad { place, reason });
            }
            Value::Mapping(_) | Value::Sequence(_) | Value::Tagged(_) => {
                let reason = format!(
                    "`{name}` is nested: settings are one `name: value` each, with Kafka's dotted names"
                );
                return Err(ConfigError::Bad { place, reason });
            }
        };
        set(values, &name, &text, place)?;
    }
    Ok(())
}

/// The line, from 1, that begins with `key`, quoted or not, and a colon.
fn line_of(text: &str, key: &str) -> Option<usize> {
    let begins = |line: &str| {
        let line = line.trim_start().trim_start_matches(['"', '\'']);
        let rest = line.strip_prefix(key).map(|rest| rest.trim_start_matches(['"', '\'']));
        rest.is_some_and(|rest| rest.trim_start().starts_with(':'))
    };
    text.lines().position(begins).map(|index| index + 1)
}

/// `OTTLA_NUM_PARTITIONS` sets `num.partitions`.
fn read_environment(
    values: &mut Values,
    environment: &[(String, String)],
) -> Result<(), ConfigError> {
    for (variable, text) in environment {
        let Some(name) = variable.strip_prefix(PREFIX) else { continue };
        let place = Place::Environment(variable.clone());
        let dotted = name.to_lowercase().replace('_', ".");
        let known = settings::find(&dotted).filter(|_| name == name.to_uppercase());
        if known.is_none() && is_service_link(name) {
            continue;
        }
        let Some(setting) = known else {
            let nearest = settings::nearest(&dotted);
            let nearest =
                nearest.map(|n| format!("{PREFIX}{}", n.to_uppercase().replace('.', "_")));
            return Err(ConfigError::Unknown { place, name: dotted, nearest });
        };
        values
            .set(setting, text, place.clone())
            .map_err(|reason| ConfigError::Bad { place, reason })?;
    }
    Ok(())
}

const PREFIX: &str = "OTTLA_";

/// Whether Kubernetes made this variable: it tells every pod of every service, as `OTTLA_PORT=tcp://...` of one that is
/// called ottla.
fn is_service_link(name: &str) -> bool {
    let name = format!("_{name}_");
    name.contains("_SERVICE_HOST_")
        || name.contains("_SERVICE_PORT_")
        || name.ends_with("_PORT_")
        || (name.contains("_PORT_") && (name.contains("_TCP_") || name.contains("_UDP_")))
}

fn hint(nearest: &Option<String>) -> String {
    nearest.as_ref().map_or(String::new(), |name| format!(", did you mean `{name}`?"))
}

fn shown(value: &Value) -> String {
    serde_yaml::to_string(value).map_or("that".into(), |text| format!("`{}`", text.trim()))
}

fn one_line(error: &serde_yaml::Error) -> String {
    error.to_string().replace('\n', " ")
}
