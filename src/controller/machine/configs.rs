//! Configs change (Kafka's `ConfigurationControlManager` and `ControllerConfigurationValidator`).
//!
//! Not here: what a broker may change of itself, which that broker has judged (`config::dynamic`).

use super::{Controller, RECORDS_MAX, Refusal};
use crate::{
    cluster::{Record, image::Configs, names, record::Resource},
    config::{self, Config, alter::Alteration, client_metrics},
    limits::{
        ALTERED_BYTES_MAX, CONFIG_BYTES, CONFIG_VALUE_CHARACTERS_MAX, CONFIGS_BYTES_MAX,
        NAMED_CONFIGS_BYTES_MAX,
    },
    wire::ErrorCode,
};

/// What shall become of the configs of one resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// These change, each at most once; the others stay.
    Some(Vec<Alteration>),
    /// These are set, nothing else.
    All(Configs),
}

impl Controller {
    /// One result for each, in order.
    pub(super) fn alter_configs(
        &self,
        changes: &[(Resource, Change)],
        validate_only: bool,
        records: &mut Vec<Record>,
    ) -> Vec<Result<(), Refusal>> {
        let config = self.config();
        let named = self.image.all_configs().filter(|(it, _)| is_named_by_anybody(it));
        let mut named: usize = named.map(|(resource, configs)| kept_bytes(resource, configs)).sum();
        let mut made = Vec::new();
        let mut alter = |(resource, change): &(Resource, Change)| {
            let now = self.image.configs(resource);
            let then = changed(resource, &now, change)?;
            self.check(&config, resource, &then)?;
            if is_named_by_anybody(resource) {
                let (less, more) = (kept_bytes(resource, &now), kept_bytes(resource, &then));
                let sum = named - less + more;
                if more > less && sum > NAMED_CONFIGS_BYTES_MAX {
                    return Err(no_room());
                }
                named = sum;
            }
            let gone = now.keys().filter(|name| !then.contains_key(*name)).map(|name| (name, None));
            let set = then.iter().filter(|(name, value)| now.get(*name) != Some(*value));
            made.extend(gone.chain(set.map(|(name, value)| (name, Some(value)))).map(
                |(name, value)| Record::Config {
                    resource: resource.clone(),
                    name: name.clone(),
                    value: value.cloned(),
                },
            ));
            Ok(())
        };
        let results: Vec<Result<(), Refusal>> = changes.iter().map(&mut alter).collect();
        if made.len() > RECORDS_MAX || made.iter().map(bytes).sum::<usize>() > ALTERED_BYTES_MAX {
            let message = "Unable to perform excessively large batch operation.";
            let refusal = Refusal::new(ErrorCode::PolicyViolation, message);
            return results.into_iter().map(|_| Err(refusal.clone())).collect();
        }
        if !validate_only {
            records.append(&mut made);
        }
        results
    }

    /// Whether `configs` may be all that `resource` sets.
    fn check(
        &self,
        config: &Config,
        resource: &Resource,
        configs: &Configs,
    ) -> Result<(), Refusal> {
        let request = |message: &str| Refusal::new(ErrorCode::InvalidRequest, message);
        let invalid = |message: String| Refusal::new(ErrorCode::InvalidConfig, message);
        match resource {
            Resource::Topic(name) => {
                if name.is_empty() {
                    return Err(request("Default topic resources are not allowed."));
                }
                names::validate(name)
                    .map_err(|why| Refusal::new(ErrorCode::InvalidTopicException, why))?;
                config::topic::validate(config, configs).map_err(invalid)?;
                if self.image.topic(name).is_none() {
                    let message = format!("The topic '{name}' does not exist.");
                    return Err(Refusal::new(ErrorCode::UnknownTopicOrPartition, message));
                }
            }
            Resource::Broker(_) => {}
            Resource::Group(name) if name.is_empty() => {
                return Err(request("Default group resources are not allowed."));
            }
            Resource::Group(_) => config::group::validate(config, configs).map_err(invalid)?,
            Resource::ClientMetrics(name) if name.is_empty() => {
                return Err(request("Subscription name can't be empty"));
            }
            Resource::ClientMetrics(_) => {
                client_metrics::validate(configs).map_err(|refusal| match refusal {
                    client_metrics::Refusal::Request(message) => request(&message),
                    client_metrics::Refusal::Value(message) => invalid(message),
                })?;
            }
        }
        check_size(configs)
    }
}

/// Whether the configs of one resource are not too much for one metadata entry.
pub(super) fn check_size(configs: &Configs) -> Result<(), Refusal> {
    let bytes: usize = configs.iter().map(|(name, value)| name.len() + value.len()).sum();
    if bytes > CONFIGS_BYTES_MAX {
        let message = format!("The configs take {bytes} bytes, more than {CONFIGS_BYTES_MAX}");
        return Err(Refusal::new(ErrorCode::InvalidConfig, message));
    }
    Ok(())
}

/// What is set after `change`. Too long is a value only when it is new.
fn changed(resource: &Resource, now: &Configs, change: &Change) -> Result<Configs, Refusal> {
    let invalid = |message: String| Err(Refusal::new(ErrorCode::InvalidConfig, message));
    let mut then = now.clone();
    match change {
        Change::All(configs) => then.clone_from(configs),
        Change::Some(alterations) => {
            for alteration in alterations {
                let name = &alteration.name;
                let list = list_default(resource, name);
                if alteration.op.needs_list() && list.is_none() {
                    let op = alteration.op.name();
                    return invalid(format!(
                        "Can't {op} to key {name} because its type is not LIST."
                    ));
                }
                match alteration.apply(now.get(name).map(String::as_str), list.flatten()) {
                    Some(value) => then.insert(name.clone(), value),
                    None => then.remove(name),
                };
            }
        }
    }
    let too_long = |(name, value): (&String, &String)| {
        now.get(name) != Some(value) && value.encode_utf16().count() > CONFIG_VALUE_CHARACTERS_MAX
    };
    if then.iter().any(too_long) {
        return invalid(format!(
            "The configuration value cannot be added because it exceeds the maximum value size of \
             {CONFIG_VALUE_CHARACTERS_MAX} bytes."
        ));
    }
    Ok(then)
}

/// The default of a list setting; None: not a list. Of topics and brokers alone, as in Kafka.
fn list_default(resource: &Resource, name: &str) -> Option<Option<&'static str>> {
    let setting = match resource {
        Resource::Topic(_) => &config::topic::table::find(name)?.setting,
        Resource::Broker(_) => config::settings::find(name)?,
        Resource::Group(_) | Resource::ClientMetrics(_) => return None,
    };
    setting.is_list().then_some(setting.default)
}

fn no_room() -> Refusal {
    let message = format!(
        "The configs of all groups and client metrics subscriptions take more than \
         {NAMED_CONFIGS_BYTES_MAX} bytes"
    );
    Refusal::new(ErrorCode::PolicyViolation, message)
}

/// Bytes of the names and the value in a record.
fn bytes(record: &Record) -> usize {
    match record {
        Record::Config { resource, name, value } => {
            resource_name(resource).len() + name.len() + value.as_ref().map_or(0, String::len)
        }
        _ => 0,
    }
}

/// Bytes of what `resource` sets: a snapshot has its name with each.
fn kept_bytes(resource: &Resource, configs: &Configs) -> usize {
    let each = CONFIG_BYTES + resource_name(resource).len();
    configs.iter().map(|(name, value)| each + name.len() + value.len()).sum()
}

fn resource_name(resource: &Resource) -> &str {
    match resource {
        Resource::Topic(name) | Resource::Group(name) | Resource::ClientMetrics(name) => name,
        Resource::Broker(_) => "",
    }
}

/// Whether it exists because somebody has named it.
fn is_named_by_anybody(resource: &Resource) -> bool {
    matches!(resource, Resource::Group(_) | Resource::ClientMetrics(_))
}
