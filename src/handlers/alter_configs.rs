//! AlterConfigs: v0-2; and the way IncrementalAlterConfigs goes too.
//!
//! Versions: 2 flexible. All configs of a resource that a request does not name are removed; IncrementalAlterConfigs changes
//! what it names. The broker judges what concerns itself (Kafka's `ConfigAdminManager`), the controller everything else and
//! commits.
//!
//! Other than Kafka 4.1.1, which never answers it, a request that names a resource twice gets the answer that
//! IncrementalAlterConfigs gives; and broker `01` is `1`, where Kafka keeps configs for it that nobody ever uses.
//! Not here: what may be set, in `config` and `controller::machine::configs`.

use super::Ctx;
use crate::{
    cluster::{Image, image::Configs, record::Resource},
    config::{
        Config,
        alter::{Alteration, Op},
        dynamic::Level,
        loggers, settings,
    },
    controller::{Change, Refusal},
    ids::NodeId,
    limits::ALTERED_RESOURCES_MAX,
    session::Session,
    wire::{
        ErrorCode, StrBytes,
        api::Api,
        messages::{
            AlterConfigsRequest, AlterConfigsResponse,
            alter_configs_response::AlterConfigsResourceResponse,
        },
    },
};
use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    sync::Arc,
};

pub const API: Api = Api::new(33, "AlterConfigs", 0, 2, 2);

/// Kafka's `ConfigResource.Type`.
pub(super) const TOPIC: i8 = 2;
pub(super) const BROKER: i8 = 4;
pub(super) const BROKER_LOGGER: i8 = 8;
pub(super) const CLIENT_METRICS: i8 = 16;
pub(super) const GROUP: i8 = 32;

pub async fn handle(
    ctx: &Ctx,
    _session: &mut Session,
    _version: i16,
    request: AlterConfigsRequest,
) -> AlterConfigsResponse {
    let resources: Vec<Altered> = request
        .resources
        .into_iter()
        .map(|it| Altered {
            kind: it.resource_type,
            name: it.resource_name,
            asked: Asked::All(it.configs.into_iter().map(|it| (it.name, it.value)).collect()),
        })
        .collect();
    let responses = alter(ctx, resources, request.validate_only).await.map(|it| {
        AlterConfigsResourceResponse::default()
            .with_error_code(it.code)
            .with_error_message(it.message)
            .with_resource_type(it.kind)
            .with_resource_name(it.name)
    });
    AlterConfigsResponse::default().with_responses(responses.collect())
}

/// A resource as a request names it.
pub(super) struct Altered {
    pub kind: i8,
    pub name: StrBytes,
    pub asked: Asked,
}

impl Altered {
    /// The same for all names of the same resource: brokers are numbers, and `01` is one.
    fn identity(&self) -> (i8, Cow<'_, str>) {
        let number = match self.kind {
            BROKER | BROKER_LOGGER => self.name.parse::<i32>().ok(),
            _ => None,
        };
        (self.kind, number.map_or(Cow::Borrowed(&*self.name), |id| Cow::Owned(id.to_string())))
    }
}

/// What a request asks of a resource: names, codes of operations and values, as they came.
pub(super) enum Asked {
    Some(Vec<(StrBytes, i8, Option<StrBytes>)>),
    All(Vec<(StrBytes, Option<StrBytes>)>),
}

/// What an answer says of a resource.
pub(super) struct Outcome {
    pub kind: i8,
    pub name: StrBytes,
    pub code: i16,
    pub message: Option<StrBytes>,
}

/// One for each, in order.
pub(super) async fn alter(
    ctx: &Ctx,
    resources: Vec<Altered>,
    validate_only: bool,
) -> impl Iterator<Item = Outcome> {
    let results = results(ctx, &resources, validate_only).await;
    resources.into_iter().zip(results).map(|(Altered { kind, name, .. }, result)| {
        let (code, message) = match result {
            Ok(()) => (0, None),
            Err(refusal) => (refusal.code.code(), refusal.message.map(StrBytes::from_string)),
        };
        Outcome { kind, name, code, message }
    })
}

async fn results(
    ctx: &Ctx,
    resources: &[Altered],
    validate_only: bool,
) -> Vec<Result<(), Refusal>> {
    if resources.len() > ALTERED_RESOURCES_MAX {
        let refuse = |_| Err(invalid_request("Too many resources in one request"));
        return resources.iter().map(refuse).collect();
    }
    let mut times: HashMap<(i8, Cow<str>), usize> = HashMap::new();
    for resource in resources {
        *times.entry(resource.identity()).or_default() += 1;
    }
    let node = NodeId(ctx.config.node_id);
    let judge = Judge { node, config: ctx.config_now(), image: ctx.image.load_full() };
    let mut results = Vec::with_capacity(resources.len());
    let (mut places, mut changes) = (Vec::new(), Vec::new());
    for (at, resource) in resources.iter().enumerate() {
        let twice = times.get(&resource.identity()) != Some(&1);
        let judged = match &resource.asked {
            _ if twice => Err(invalid_request("Each resource must appear at most once.")),
            Asked::Some(asked) if resource.kind == BROKER_LOGGER => {
                judge.alter_loggers(&resource.name, asked, validate_only)
            }
            _ => judge.judge(resource).map(|change| {
                places.push(at);
                changes.push(change);
            }),
        };
        results.push(judged);
    }
    if changes.is_empty() {
        return results;
    }
    let decided = ctx.controller.alter_configs(changes, validate_only).await;
    let decided = decided.unwrap_or_else(|code| vec![Err(code.into()); places.len()]);
    for (at, decided) in places.into_iter().zip(decided) {
        results[at] = decided;
    }
    results
}

fn invalid_request(message: impl Into<String>) -> Refusal {
    Refusal::new(ErrorCode::InvalidRequest, message)
}

/// Judges what the controller cannot.
struct Judge {
    node: NodeId,
    /// What is in effect on this broker.
    config: Arc<Config>,
    image: Arc<Image>,
}

impl Judge {
    /// Loggers are nobody else's: all of it is done here, or nothing (Kafka's `RuntimeLoggerManager`).
    fn alter_loggers(
        &self,
        name: &str,
        asked: &[(StrBytes, i8, Option<StrBytes>)],
        validate_only: bool,
    ) -> Result<(), Refusal> {
        let invalid = |message: String| Err(Refusal::new(ErrorCode::InvalidConfig, message));
        check_wellformed(asked.iter().map(|(name, op, value)| (name, Some(*op), value)))?;
        let id = node_id(name)?;
        if id != self.node.0 {
            let own = self.node.0;
            let message = format!("Unexpected node id. Expected {own}, but received {id}");
            return Err(invalid_request(message));
        }
        let mut changes = Vec::new();
        for (logger, op, level) in asked {
            let op = Op::from_code(*op).ok_or(ErrorCode::UnknownServerError)?;
            if op.needs_list() {
                return Err(invalid_request(format!(
                    "{} operation is not allowed for the BROKER_LOGGER resource",
                    op.name()
                )));
            }
            if !loggers::NAMES.contains(&logger.as_str()) {
                return invalid(format!("Logger {logger} does not exist!"));
            }
            let level = level.as_deref().filter(|_| op == Op::Set);
            if let Some(level) = level.filter(|level| !loggers::LEVELS.contains(level)) {
                return invalid(format!(
                    "Cannot set the log level of {logger} to {level} as it is not a supported log level. \
                     Valid log levels are {}",
                    loggers::LEVELS.join(", ")
                ));
            }
            if op == Op::Delete && logger.as_str() == loggers::ROOT {
                let message = "Removing the log level of the root logger is not allowed";
                return Err(invalid_request(message));
            }
            changes.push((logger.as_str(), level));
        }
        if !validate_only {
            self.config.loggers.alter(&changes);
        }
        Ok(())
    }

    /// What the controller is asked to do.
    fn judge(&self, resource: &Altered) -> Result<(Resource, Change), Refusal> {
        match &resource.asked {
            Asked::Some(asked) => {
                check_wellformed(asked.iter().map(|(name, op, value)| (name, Some(*op), value)))?;
            }
            Asked::All(asked) => {
                check_wellformed(asked.iter().map(|(name, value)| (name, None, value)))?;
            }
        }
        let name = resource.name.to_string();
        match resource.kind {
            TOPIC => Ok((Resource::Topic(name), change(&resource.asked)?)),
            GROUP => Ok((Resource::Group(name), change(&resource.asked)?)),
            CLIENT_METRICS => Ok((Resource::ClientMetrics(name), change(&resource.asked)?)),
            BROKER => self.judge_broker(&name, &resource.asked),
            kind => Err(invalid_request(format!("Unknown resource type {kind}"))),
        }
    }

    fn judge_broker(&self, name: &str, asked: &Asked) -> Result<(Resource, Change), Refusal> {
        let (resource, level) = if name.is_empty() {
            (Resource::Broker(None), Level::Cluster)
        } else {
            let own = self.node;
            if node_id(name)? != own.0 {
                return Err(invalid_request(format!(
                    "Unexpected broker id, expected {}, but received {name}",
                    own.0
                )));
            }
            (Resource::Broker(Some(own)), Level::Broker)
        };
        if let Asked::Some(asked) = asked
            && let Some((_, code, _)) = asked.iter().find(|(_, op, _)| Op::from_code(*op).is_none())
        {
            return Err(invalid_request(format!("Unknown operations type {code}")));
        }
        let change = change(asked)?;
        let proposed = match &change {
            Change::All(configs) => configs.clone(),
            Change::Some(alterations) => self.proposed(&resource, alterations)?,
        };
        self.config.check_dynamic(level, &proposed).map_err(invalid_request)?;
        Ok((resource, change))
    }

    fn proposed(
        &self,
        resource: &Resource,
        alterations: &[Alteration],
    ) -> Result<Configs, Refusal> {
        let mut proposed = self.image.configs(resource);
        for alteration in alterations {
            let name = &alteration.name;
            let setting = settings::find(name);
            if alteration.op.needs_list() {
                // Kafka trips over a name it does not know.
                let setting = setting.ok_or(ErrorCode::UnknownServerError)?;
                if !setting.is_list() {
                    let op = alteration.op.name().to_lowercase();
                    return Err(Refusal::new(
                        ErrorCode::InvalidConfig,
                        format!("Config value {op} is not allowed for config key: {name}"),
                    ));
                }
            }
            let now = proposed.get(name).map(String::as_str);
            match alteration.apply(now, setting.and_then(|setting| setting.default)) {
                Some(value) => proposed.insert(name.clone(), value),
                None => proposed.remove(name),
            };
        }
        Ok(proposed)
    }
}

fn node_id(name: &str) -> Result<i32, Refusal> {
    let why = |_| invalid_request(format!("Node id must be an integer, but it is: {name}"));
    name.parse().map_err(why)
}

/// What is wrong whatever the resource is: of names, operations and values.
fn check_wellformed<'a>(
    asked: impl Iterator<Item = (&'a StrBytes, Option<i8>, &'a Option<StrBytes>)> + Clone,
) -> Result<(), Refusal> {
    let mut names = HashSet::new();
    if !asked.clone().all(|(name, ..)| names.insert(name.as_str())) {
        return Err(invalid_request("Error due to duplicate config keys"));
    }
    let missing = |(_, op, value): &(_, Option<i8>, &Option<StrBytes>)| {
        value.is_none() && *op != Some(Op::Delete as i8)
    };
    let nulls: Vec<&str> = asked.filter(missing).map(|(name, ..)| name.as_str()).collect();
    if !nulls.is_empty() {
        let names = nulls.join(", ");
        return Err(invalid_request(format!("Null value not supported for : {names}")));
    }
    Ok(())
}

/// Kafka trips over an operation it does not know.
fn change(asked: &Asked) -> Result<Change, Refusal> {
    let text = |value: &Option<StrBytes>| value.as_deref().unwrap_or_default().to_owned();
    let alterations = match asked {
        Asked::All(configs) => {
            let configs = configs.iter().map(|(name, value)| (name.to_string(), text(value)));
            return Ok(Change::All(configs.collect()));
        }
        Asked::Some(alterations) => alterations,
    };
    let read = |(name, op, value): &(StrBytes, i8, Option<StrBytes>)| {
        let op = Op::from_code(*op).ok_or(ErrorCode::UnknownServerError)?;
        Ok(Alteration { name: name.to_string(), op, value: text(value) })
    };
    alterations.iter().map(read).collect::<Result<_, Refusal>>().map(Change::Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two thousand names of one broker used to be two thousand changes of it, each within its bounds.
    #[test]
    fn a_broker_has_one_name() {
        let same = |kind, a: &'static str, b: &'static str| {
            let named = |name| Altered {
                kind,
                name: StrBytes::from_static_str(name),
                asked: Asked::All(Vec::new()),
            };
            named(a).identity() == named(b).identity()
        };
        let cases = [
            (BROKER, "1", "01", true),
            (BROKER, "1", "+1", true),
            (BROKER_LOGGER, "1", "001", true),
            (BROKER, "1", "", false),
            (BROKER, "1", "10", false),
            (BROKER, "x", "0x", false),
            (GROUP, "1", "01", false),
            (TOPIC, "1", "01", false),
        ];
        for (kind, a, b, expected) in cases {
            assert_eq!(same(kind, a, b), expected, "{kind} {a} {b}");
        }
    }
}
