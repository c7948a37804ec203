//! DescribeCluster: v0-2.
//!
//! Versions: 1 endpoint type (KIP-919) · 2 fenced brokers (KIP-1073). Brokers are named at the listener that was asked.

use super::Ctx;
use crate::{
    cluster::Image,
    session::Session,
    wire::{
        ErrorCode, StrBytes,
        api::Api,
        messages::{
            DescribeClusterRequest, DescribeClusterResponse,
            describe_cluster_response::DescribeClusterBroker,
        },
    },
};

pub const API: Api = Api::new(60, "DescribeCluster", 0, 2, 0);

/// KIP-919's endpoint types.
const BROKERS: i8 = 1;
const CONTROLLERS: i8 = 2;

/// What anyone may do to the cluster without an authorizer, as bits of KIP-430: create, alter, describe, cluster action,
/// describe and alter configs, idempotent write.
const ALL_OPERATIONS: i32 = 1 << 5 | 1 << 7 | 1 << 8 | 1 << 9 | 1 << 10 | 1 << 11 | 1 << 12;

pub async fn handle(
    ctx: &Ctx,
    session: &mut Session,
    _version: i16,
    request: DescribeClusterRequest,
) -> DescribeClusterResponse {
    let listener = &ctx.config.listeners[session.listener].name;
    describe(&ctx.image.load(), listener, &request)
}

fn describe(
    image: &Image,
    listener: &str,
    request: &DescribeClusterRequest,
) -> DescribeClusterResponse {
    match request.endpoint_type {
        BROKERS => {}
        CONTROLLERS => {
            let message = "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type \
                           CONTROLLER";
            return refused(ErrorCode::MismatchedEndpointType, message.into());
        }
        other => {
            let message = format!("Unsupported endpoint type {other}");
            return refused(ErrorCode::UnsupportedEndpointType, message);
        }
    }
    let mut brokers = Vec::new();
    for broker in image.brokers().filter(|b| !b.fenced || request.include_fenced_brokers) {
        let Some((host, port)) = broker.listeners.get(listener) else { continue };
        let described = DescribeClusterBroker::default()
            .with_broker_id(broker.node_id.0.into())
            .with_host(StrBytes::from_string(host.clone()))
            .with_port((*port).into())
            .with_rack(broker.rack.clone().map(StrBytes::from_string))
            .with_is_fenced(broker.fenced);
        brokers.push(described);
    }
    // Any live broker takes what is meant for the controller and forwards it.
    let controller = brokers.iter().find(|b| !b.is_fenced).map_or((-1).into(), |b| b.broker_id);
    let mut response = DescribeClusterResponse::default()
        .with_cluster_id(StrBytes::from_string(image.cluster_id().to_owned()))
        .with_controller_id(controller)
        .with_brokers(brokers);
    if request.include_cluster_authorized_operations {
        response.cluster_authorized_operations = ALL_OPERATIONS;
    }
    response
}

fn refused(error: ErrorCode, message: String) -> DescribeClusterResponse {
    DescribeClusterResponse::default()
        .with_error_code(error.code())
        .with_error_message(Some(StrBytes::from_string(message)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{cluster::Record, ids::NodeId};

    fn image() -> Image {
        let mut image = Image::default();
        image.apply(&Record::Cluster { cluster_id: "c".into() });
        for (id, fenced) in [(1, true), (2, false), (3, false)] {
            let mut listeners = std::collections::BTreeMap::new();
            listeners.insert("IN".to_owned(), (format!("in{id}"), 1));
            if id != 2 {
                listeners.insert("EX".to_owned(), (format!("ex{id}"), 2));
            }
            image.apply(&Record::Broker {
                node_id: NodeId(id),
                broker_epoch: 1,
                incarnation_id: uuid::Uuid::from_u128(1),
                rack: None,
                listeners,
                fenced,
            });
        }
        image
    }

    #[test]
    fn brokers_are_named_at_the_listener_that_was_asked() {
        let asked = |listener, fenced| {
            let request = DescribeClusterRequest::default().with_include_fenced_brokers(fenced);
            let response = describe(&image(), listener, &request);
            let hosts: Vec<_> = response.brokers.iter().map(|b| b.host.to_string()).collect();
            (hosts.join(" "), response.controller_id.0)
        };
        assert_eq!(asked("IN", false), ("in2 in3".into(), 2));
        assert_eq!(asked("IN", true), ("in1 in2 in3".into(), 2));
        assert_eq!(asked("EX", false), ("ex3".into(), 3));
        assert_eq!(asked("OTHER", false), (String::new(), -1));
    }

    /// Seen on Kafka 4.1.1.
    #[test]
    fn only_brokers_are_described() {
        for (kind, code, message) in [
            (
                2,
                114,
                "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER",
            ),
            (3, 115, "Unsupported endpoint type 3"),
        ] {
            let request = DescribeClusterRequest::default().with_endpoint_type(kind);
            let response = describe(&image(), "IN", &request);
            assert_eq!(
                (response.error_code, response.error_message.as_deref()),
                (code, Some(message))
            );
            assert!(response.brokers.is_empty() && response.cluster_id.is_empty());
        }
    }

    #[test]
    fn operations_are_told_when_asked_for() {
        for (ask, bits) in [(false, i32::MIN), (true, 8096)] {
            let request =
                DescribeClusterRequest::default().with_include_cluster_authorized_operations(ask);
            assert_eq!(describe(&image(), "IN", &request).cluster_authorized_operations, bits);
        }
    }
}
