//! FindCoordinator: v0-6.

use kafka_protocol::messages::FindCoordinatorRequest;

use super::{Case, case, check};
use crate::broker::is_foreign;
use crate::client::{call, text};
use crate::codes::NONE;
use crate::fixtures::until;

/// In the version's field for keys.
fn of(version: i16, kind: i8, keys: &[&str]) -> FindCoordinatorRequest {
    let request = FindCoordinatorRequest::default().with_key_type(kind);
    if version < 4 {
        return request.with_key(text(keys[0]));
    }
    request.with_coordinator_keys(keys.iter().map(|key| text(key)).collect())
}

const CASES: &[Case] = &[
    case("a group's coordinator", 0..=6, |t| {
        let group = t.group();
        t.ask(&of(t.version, 0, &[&group]));
    }),
    case("two groups, one of them twice", 4..=6, |t| {
        let (one, other) = (t.group(), t.group());
        t.ask(&of(t.version, 0, &[&one, &other, &one]));
    }),
    case("no keys", 4..=6, |t| {
        t.ask(&of(t.version, 0, &[]));
    }),
    case("kinds that do not exist", 1..=6, |t| {
        let v = t.version;
        for kind in [3, 7, -1] {
            t.note(&format!("kind {kind}")).ask(&of(v, kind, &["x"]));
        }
    }),
    case("a share partition, from v6 on", 1..=5, |t| {
        t.ask(&of(t.version, 2, &["x:y:0"]));
    }),
    case("a transaction's coordinator", 1..=6, |t| {
        let (v, name) = (t.version, t.name("transactional-id"));
        until("the coordinator", || {
            let answer = call(3, &of(3, 1, &[&name]));
            !is_foreign() || answer.error_code == NONE
        });
        t.ask(&of(v, 1, &[&name]));
    }),
    case("no key", 0..=6, |t| {
        t.ask(&of(t.version, 0, &[""]));
    }),
];

#[test]
fn find_coordinator() {
    check("find_coordinator", 10, CASES);
}
