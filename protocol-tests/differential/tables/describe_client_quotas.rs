//! DescribeClientQuotas: v0-1, when there are none.

use kafka_protocol::messages::DescribeClientQuotasRequest;
use kafka_protocol::messages::describe_client_quotas_request::ComponentData;

use super::{Case, case, check};
use crate::client::text;

fn component(entity: &str, kind: i8, name: Option<&str>) -> ComponentData {
    ComponentData::default()
        .with_entity_type(text(entity))
        .with_match_type(kind)
        .with_match(name.map(text))
}

fn of(components: Vec<ComponentData>) -> DescribeClientQuotasRequest {
    DescribeClientQuotasRequest::default().with_components(components)
}

const CASES: &[Case] = &[
    case("all", 0..=1, |t| {
        t.ask(&of(vec![]));
        t.ask(&of(vec![]).with_strict(true));
    }),
    case("of a user, of the default user, of any user", 0..=1, |t| {
        for (kind, name) in [(0, Some("differential-nobody")), (1, None), (2, None)] {
            t.ask(&of(vec![component("user", kind, name)]));
        }
    }),
    case("of a client and an address", 0..=1, |t| {
        t.ask(&of(vec![component("client-id", 0, Some("differential-nobody"))]));
        t.ask(&of(vec![component("ip", 0, Some("127.0.0.77"))]));
    }),
    case("what cannot be asked", 0..=1, |t| {
        t.note("an unknown entity").ask(&of(vec![component("x", 2, None)]));
        t.note("no entity").ask(&of(vec![component("", 2, None)]));
        t.note("an unknown match").ask(&of(vec![component("user", 3, None)]));
        t.note("an exact match of nothing").ask(&of(vec![component("user", 0, None)]));
        t.note("a default with a name").ask(&of(vec![component("user", 1, Some("a"))]));
        let twice = vec![component("user", 2, None), component("user", 2, None)];
        t.note("twice").ask(&of(twice));
        let both = vec![component("ip", 2, None), component("user", 2, None)];
        t.note("an address and a user").ask(&of(both));
    }),
];

#[test]
fn describe_client_quotas() {
    check("describe_client_quotas", 48, CASES);
}
