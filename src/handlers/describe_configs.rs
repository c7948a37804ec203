//! DescribeConfigs: v1-4.
//!
//! Versions: 1 synonyms and sources (KIP-226) · 3 types and documentation (KIP-569) · 4 flexible. Errors are those of
//! Kafka's `ConfigHelper`.
//!
//! Not here: what is said of a setting (`config::describe`).

use super::{
    Ctx,
    alter_configs::{BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, TOPIC},
};
use crate::{
    cluster::{Image, names, record::Resource},
    config::{
        Config,
        describe::{self, Entry, Name},
        setting::Type,
    },
    limits::DESCRIBED_SETTINGS_MAX,
    session::Session,
    wire::{
        ErrorCode, StrBytes,
        api::Api,
        messages::{
            DescribeConfigsRequest, DescribeConfigsResponse,
            describe_configs_request::DescribeConfigsResource,
            describe_configs_response::{
                DescribeConfigsResourceResult, DescribeConfigsResult, DescribeConfigsSynonym,
            },
        },
    },
};
use std::{borrow::Cow, collections::HashSet};

pub const API: Api = Api::new(32, "DescribeConfigs", 1, 4, 4);

pub async fn handle(
    ctx: &Ctx,
    _session: &mut Session,
    _version: i16,
    request: DescribeConfigsRequest,
) -> DescribeConfigsResponse {
    describe(&ctx.config_now(), &ctx.image.load(), &request)
}

fn describe(
    config: &Config,
    image: &Image,
    request: &DescribeConfigsRequest,
) -> DescribeConfigsResponse {
    let known = [TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP];
    // One resource of an unknown type spoils the whole request.
    let understood = request.resources.iter().all(|r| known.contains(&r.resource_type));
    let mut results = Vec::with_capacity(request.resources.len());
    let mut looked_at = 0;
    for resource in &request.resources {
        let described = if !understood {
            Err((ErrorCode::InvalidRequest, MALFORMED.into()))
        } else if looked_at > DESCRIBED_SETTINGS_MAX {
            Err((ErrorCode::InvalidRequest, "Too many resources in one request".into()))
        } else {
            entries(config, image, resource)
        };
        looked_at += described.as_ref().map_or(1, |entries| 1 + entries.len());
        results.push(result(request, resource, described));
    }
    DescribeConfigsResponse::default().with_results(results)
}

const MALFORMED: &str = "This most likely occurs because of a request being malformed by the client library or the \
                         message was sent to an incompatible broker. See the broker logs for more details.";

type Refusal = (ErrorCode, String);

fn entries(
    config: &Config,
    image: &Image,
    resource: &DescribeConfigsResource,
) -> Result<Vec<Entry>, Refusal> {
    let name = resource.resource_name.as_str();
    let invalid = |why: String| Err((ErrorCode::InvalidRequest, why));
    match resource.resource_type {
        TOPIC => {
            names::validate(name).map_err(|why| (ErrorCode::InvalidTopicException, why))?;
            if image.topic(name).is_none() {
                return Err((ErrorCode::UnknownTopicOrPartition, String::new()));
            }
            let overrides = image.configs(&Resource::Topic(name.to_owned()));
            Ok(describe::topic(config, &overrides))
        }
        BROKER if name.is_empty() => Ok(describe::cluster(config)),
        BROKER => {
            own_id(config, name, "expected {} or empty string, but received")?;
            Ok(describe::broker(config))
        }
        BROKER_LOGGER if name.is_empty() => invalid("Broker id must not be empty".into()),
        BROKER_LOGGER => {
            own_id(config, name, "expected {} but received")?;
            Ok(describe::loggers(config))
        }
        CLIENT_METRICS if name.is_empty() => {
            invalid("Client metrics subscription name must not be empty".into())
        }
        CLIENT_METRICS => {
            let overrides = image.configs(&Resource::ClientMetrics(name.to_owned()));
            Ok(describe::client_metrics(&overrides))
        }
        _ if name.is_empty() => invalid("Group name must not be empty".into()),
        _ => {
            let overrides = image.configs(&Resource::Group(name.to_owned()));
            Ok(describe::group(config, &overrides))
        }
    }
}

/// Only this broker knows its settings: `name` must be its id.
fn own_id(config: &Config, name: &str, wording: &str) -> Result<(), Refusal> {
    let own = config.node_id;
    let why = match name.parse::<i32>() {
        Ok(id) if id == own => return Ok(()),
        Ok(_) => {
            format!("Unexpected broker id, {} {name}", wording.replace("{}", &own.to_string()))
        }
        Err(_) => format!("Broker id must be an integer, but it is: {name}"),
    };
    Err((ErrorCode::InvalidRequest, why))
}

fn result(
    request: &DescribeConfigsRequest,
    resource: &DescribeConfigsResource,
    described: Result<Vec<Entry>, Refusal>,
) -> DescribeConfigsResult {
    let result = DescribeConfigsResult::default()
        .with_resource_type(resource.resource_type)
        .with_resource_name(resource.resource_name.clone());
    let entries = match described {
        Ok(entries) => entries,
        Err((error, why)) => {
            let why = StrBytes::from_string(why);
            return result.with_error_code(error.code()).with_error_message(Some(why));
        }
    };
    // No keys, as null, means all of them.
    let keys: Option<HashSet<&str>> = resource
        .configuration_keys
        .as_ref()
        .filter(|keys| !keys.is_empty())
        .map(|keys| keys.iter().map(StrBytes::as_str).collect());
    let wanted = |entry: &Entry| keys.as_ref().is_none_or(|keys| keys.contains(&*entry.name));
    let configs = entries.into_iter().filter(wanted).map(|entry| shown(request, entry)).collect();
    result.with_configs(configs)
}

fn shown(request: &DescribeConfigsRequest, entry: Entry) -> DescribeConfigsResourceResult {
    let text = |value: Option<String>| value.map(StrBytes::from_string);
    let mut synonyms = Vec::new();
    if request.include_synonyms {
        synonyms.extend(entry.synonyms.into_iter().map(|synonym| {
            DescribeConfigsSynonym::default()
                .with_name(name(synonym.name))
                .with_value(text(synonym.value))
                .with_source(synonym.source as i8)
        }));
    }
    let documentation = entry.documentation.filter(|_| request.include_documentation);
    DescribeConfigsResourceResult::default()
        .with_name(name(entry.name))
        .with_value(text(entry.value))
        .with_read_only(entry.read_only)
        .with_config_source(entry.source as i8)
        .with_is_sensitive(entry.sensitive)
        .with_synonyms(synonyms)
        .with_config_type(entry.kind.map_or(0, Type::code))
        .with_documentation(documentation.map(StrBytes::from_static_str))
}

fn name(name: Name) -> StrBytes {
    match name {
        Cow::Borrowed(name) => StrBytes::from_static_str(name),
        Cow::Owned(name) => StrBytes::from_string(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{cluster::Record, ids::TopicId};

    fn image() -> Image {
        let mut image = Image::default();
        let resource = Resource::Topic("t".into());
        let (name, value) = ("retention.ms".to_owned(), Some("1000".to_owned()));
        image.apply(&Record::Topic {
            name: "t".into(),
            topic_id: TopicId(uuid::Uuid::from_u128(1)),
        });
        image.apply(&Record::Config { resource, name, value });
        image
    }

    fn resource(kind: i8, name: &str) -> DescribeConfigsResource {
        DescribeConfigsResource::default()
            .with_resource_type(kind)
            .with_resource_name(StrBytes::from_string(name.to_owned()))
            .with_configuration_keys(None)
    }

    fn ask(resources: Vec<DescribeConfigsResource>) -> Vec<DescribeConfigsResult> {
        let request = DescribeConfigsRequest::default()
            .with_resources(resources)
            .with_include_synonyms(false)
            .with_include_documentation(false);
        describe(&Config::dev(), &image(), &request).results
    }

    /// Code, message and number of settings; seen on Kafka 4.1.1, whose loggers are others.
    #[test]
    fn each_kind_of_resource_is_answered_as_kafka_does() {
        let cases = [
            (2, "t", 0, "", 33),
            (2, "unknown", 3, "", 0),
            (2, "", 17, "Topic name is invalid: the empty string is not allowed", 0),
            (4, "1", 0, "", 317),
            (4, "", 0, "", 0),
            (4, "7", 42, "Unexpected broker id, expected 1 or empty string, but received 7", 0),
            (4, "x", 42, "Broker id must be an integer, but it is: x", 0),
            (8, "1", 0, "", 10),
            (8, "", 42, "Broker id must not be empty", 0),
            (8, "9", 42, "Unexpected broker id, expected 1 but received 9", 0),
            (16, "m", 0, "", 3),
            (16, "", 42, "Client metrics subscription name must not be empty", 0),
            (32, "g", 0, "", 10),
            (32, "", 42, "Group name must not be empty", 0),
            (0, "x", 42, MALFORMED, 0),
        ];
        for (kind, name, code, message, settings) in cases {
            let results = ask(vec![resource(kind, name)]);
            let result = &results[0];
            let said = result.error_message.as_deref().unwrap();
            assert_eq!(
                (result.error_code, said, result.configs.len()),
                (code, message, settings),
                "{kind} {name}"
            );
            assert_eq!((result.resource_type, result.resource_name.as_str()), (kind, name));
        }
    }

    #[test]
    fn an_unknown_kind_spoils_the_request() {
        let results = ask(vec![resource(2, "t"), resource(3, "x")]);
        assert!(results.iter().all(|result| result.error_code == 42 && result.configs.is_empty()));
    }

    /// A small request must not become a huge answer.
    #[test]
    fn the_settings_looked_at_are_bounded() {
        let brokers = DESCRIBED_SETTINGS_MAX / 317 + 2;
        let none = Some(vec![StrBytes::from_static_str("nope")]);
        let all = (0..brokers).map(|_| resource(4, "1").with_configuration_keys(none.clone()));
        let results = ask(all.collect());
        assert_eq!(results.first().unwrap().error_code, 0);
        assert_eq!(results.last().unwrap().error_code, 42);
    }

    #[test]
    fn keys_choose_and_no_keys_choose_all() {
        let with = |keys: &[&'static str]| {
            let keys = keys.iter().map(|key| StrBytes::from_static_str(key)).collect();
            let results = ask(vec![resource(2, "t").with_configuration_keys(Some(keys))]);
            results[0].configs.clone()
        };
        assert_eq!(with(&[]).len(), 33);
        assert!(with(&["nope"]).is_empty());
        let chosen = with(&["nope", "retention.ms"]);
        let expected = DescribeConfigsResourceResult::default()
            .with_name(StrBytes::from_static_str("retention.ms"))
            .with_value(Some(StrBytes::from_static_str("1000")))
            .with_config_source(1)
            .with_config_type(5)
            .with_documentation(None);
        assert_eq!(chosen, [expected]);
    }

    #[test]
    fn synonyms_and_documentation_are_there_when_asked_for() {
        let request = DescribeConfigsRequest::default()
            .with_resources(vec![resource(2, "t")])
            .with_include_synonyms(true)
            .with_include_documentation(true);
        let result = &describe(&Config::dev(), &image(), &request).results[0];
        let entry = result.configs.iter().find(|c| c.name.as_str() == "max.message.bytes").unwrap();
        let synonym = DescribeConfigsSynonym::default()
            .with_name(StrBytes::from_static_str("message.max.bytes"))
            .with_value(Some(StrBytes::from_static_str("1048588")))
            .with_source(5);
        assert_eq!(entry.synonyms, [synonym]);
        assert!(entry.documentation.as_deref().is_some_and(|text| text.contains("bytes")));
    }
}
