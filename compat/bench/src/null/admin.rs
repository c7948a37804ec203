//! What the null broker knows beside Produce: which topics there are and where it listens. These requests are rare, so they
//! are decoded as Ottla does.

use super::produce;
use anyhow::{Context, Result, bail};
use bytes::Bytes;
use ottla::wire::{
    self, Api, ErrorCode, RequestHeader,
    messages::{
        ApiVersionsResponse, BrokerId, CreateTopicsRequest, CreateTopicsResponse,
        DeleteTopicsRequest, DeleteTopicsResponse, MetadataRequest, MetadataResponse, TopicName,
        api_versions_response::ApiVersion,
        create_topics_response::CreatableTopicResult,
        delete_topics_response::DeletableTopicResult,
        metadata_response::{
            MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
        },
    },
    protocol::Encodable,
    text,
};
use std::{collections::HashMap, net::SocketAddr};

const API_VERSIONS: Api = Api::new(18, "ApiVersions", 0, 2, i16::MAX);
const METADATA: Api = Api::new(3, "Metadata", 1, 8, i16::MAX);
const CREATE_TOPICS: Api = Api::new(19, "CreateTopics", 2, 4, i16::MAX);
const DELETE_TOPICS: Api = Api::new(20, "DeleteTopics", 1, 3, i16::MAX);
const APIS: [Api; 4] = [API_VERSIONS, METADATA, CREATE_TOPICS, DELETE_TOPICS];
const NODE: BrokerId = BrokerId(1);

pub struct Admin {
    address: SocketAddr,
    /// Partitions of each topic.
    topics: HashMap<TopicName, i32>,
}

impl Admin {
    pub fn new(address: SocketAddr) -> Admin {
        Admin { address, topics: HashMap::new() }
    }

    /// Appends the whole answer frame.
    pub fn answer(&mut self, request: &[u8], answers: &mut Vec<u8>) -> Result<()> {
        let (key, version) = RequestHeader::peek(request)?;
        let api = APIS.iter().find(|api| api.key == key);
        let api = api.with_context(|| format!("API {key} is not served"))?;
        let mut body = Bytes::copy_from_slice(request);
        let correlation = RequestHeader::parse(&mut body, api)?.correlation_id;
        let encode = |version: i16, response: Response| response.encode(api, version, correlation);
        let served = (api.min..=api.max).contains(&version);
        let frame = match key {
            // A client that asks for too new a version is told so in v0 (KIP-511).
            18 if !served => encode(0, api_versions(Some(ErrorCode::UnsupportedVersion))),
            _ if !served => bail!("{} v{version} is not served", api.name),
            18 => encode(version, api_versions(None)),
            3 => encode(version, self.metadata(wire::decode(key, version, body, true)?)),
            19 => encode(version, self.create(wire::decode(key, version, body, true)?)),
            _ => encode(version, self.delete(wire::decode(key, version, body, true)?)),
        };
        answers.extend_from_slice(&frame?);
        Ok(())
    }

    /// Null names all topics.
    fn metadata(&self, request: MetadataRequest) -> Response {
        let names = match request.topics {
            Some(topics) => topics.into_iter().filter_map(|topic| topic.name).collect(),
            None => self.topics.keys().cloned().collect::<Vec<_>>(),
        };
        let broker = MetadataResponseBroker::default()
            .with_node_id(NODE)
            .with_host(text(&self.address.ip().to_string()))
            .with_port(self.address.port().into());
        let response = MetadataResponse::default()
            .with_brokers(vec![broker])
            .with_controller_id(NODE)
            .with_topics(names.into_iter().map(|name| self.topic(name)).collect());
        Response::Metadata(response)
    }

    fn topic(&self, name: TopicName) -> MetadataResponseTopic {
        let partition = |index| {
            MetadataResponsePartition::default()
                .with_partition_index(index)
                .with_leader_id(NODE)
                .with_replica_nodes(vec![NODE])
                .with_isr_nodes(vec![NODE])
        };
        let topic = MetadataResponseTopic::default();
        let topic = match self.topics.get(&name) {
            Some(partitions) => topic.with_partitions((0..*partitions).map(partition).collect()),
            None => topic.with_error_code(ErrorCode::UnknownTopicOrPartition.code()),
        };
        topic.with_name(Some(name))
    }

    fn create(&mut self, request: CreateTopicsRequest) -> Response {
        let mut results = vec![];
        for topic in request.topics {
            let partitions = topic.num_partitions.max(1);
            let code = match self.topics.get(&topic.name) {
                Some(_) => ErrorCode::TopicAlreadyExists.code(),
                None => 0,
            };
            self.topics.entry(topic.name.clone()).or_insert(partitions);
            let result = CreatableTopicResult::default().with_name(topic.name);
            results.push(result.with_error_code(code));
        }
        Response::Create(CreateTopicsResponse::default().with_topics(results))
    }

    fn delete(&mut self, request: DeleteTopicsRequest) -> Response {
        let mut results = vec![];
        for name in request.topic_names {
            let code = match self.topics.remove(&name) {
                Some(_) => 0,
                None => ErrorCode::UnknownTopicOrPartition.code(),
            };
            let result = DeletableTopicResult::default().with_name(Some(name));
            results.push(result.with_error_code(code));
        }
        Response::Delete(DeleteTopicsResponse::default().with_responses(results))
    }
}

enum Response {
    ApiVersions(ApiVersionsResponse),
    Metadata(MetadataResponse),
    Create(CreateTopicsResponse),
    Delete(DeleteTopicsResponse),
}

impl Response {
    fn encode(self, api: &Api, version: i16, correlation: i32) -> Result<Bytes> {
        fn frame(api: &Api, version: i16, id: i32, body: &impl Encodable) -> Result<Bytes> {
            Ok(wire::encode_response(api, version, id, body)?)
        }
        match self {
            Response::ApiVersions(body) => frame(api, version, correlation, &body),
            Response::Metadata(body) => frame(api, version, correlation, &body),
            Response::Create(body) => frame(api, version, correlation, &body),
            Response::Delete(body) => frame(api, version, correlation, &body),
        }
    }
}

fn api_versions(error: Option<ErrorCode>) -> Response {
    let range = |(key, min, max)| {
        ApiVersion::default().with_api_key(key).with_min_version(min).with_max_version(max)
    };
    let admin = APIS.iter().map(|api| (api.key, api.min, api.max));
    let response = ApiVersionsResponse::default()
        .with_error_code(error.map_or(0, |error| error.code()))
        .with_api_keys([produce::RANGE].into_iter().chain(admin).map(range).collect());
    Response::ApiVersions(response)
}
