//! ListTransactions: v0-2, where there are none.

use kafka_protocol::messages::ListTransactionsRequest;

use crate::client::{call, text};
use crate::codes::{INVALID_REGULAR_EXPRESSION, NONE};
use crate::fixtures::unique;

/// On a Kafka that others use, ids that nobody has.
fn request(version: i16) -> ListTransactionsRequest {
    match version {
        2.. => ListTransactionsRequest::default()
            .with_transactional_id_pattern(Some(text(&unique("transaction")))),
        _ => ListTransactionsRequest::default().with_producer_id_filters(vec![i64::MAX.into()]),
    }
}

#[test]
fn states_that_do_not_exist() {
    let known = [
        "Empty",
        "Ongoing",
        "PrepareCommit",
        "PrepareAbort",
        "CompleteCommit",
        "CompleteAbort",
        "Dead",
        "PrepareEpochFence",
    ];
    for version in 0..=2 {
        for (states, unknown) in [
            (vec![], vec![]),
            (known.to_vec(), vec![]),
            (vec!["Ongoing", "nope", "ongoing", "", "nope"], vec!["", "nope", "ongoing"]),
        ] {
            let states = states.into_iter().map(text).collect();
            let response = call(version, &request(version).with_state_filters(states));
            assert_eq!(response.error_code, NONE, "v{version}");
            let mut told: Vec<_> = response.unknown_state_filters.iter().map(|it| &**it).collect();
            told.sort_unstable();
            assert_eq!(told, unknown, "v{version}");
            assert_eq!(response.transaction_states, [], "v{version}");
        }
    }
}

#[test]
fn durations_and_patterns() {
    for duration in [-1, 0, i64::MAX] {
        let response = call(2, &request(2).with_duration_filter(duration));
        assert_eq!((response.error_code, response.transaction_states.len()), (NONE, 0));
    }
    let refused = INVALID_REGULAR_EXPRESSION;
    for (pattern, expected) in [
        (None, NONE),
        (Some(""), NONE),
        (Some("tests-none-.*"), NONE),
        (Some("(a|b)+[0-9]{2}?$"), NONE),
        (Some("\\Qa(b\\E"), NONE),
        (Some("{a}"), NONE),
        (Some("a{,2}["), refused),
        (Some("("), refused),
        (Some("*"), refused),
        (Some("[b-a]"), refused),
        (Some("a{2,1}"), refused),
        (Some("(?=a)"), refused),
    ] {
        let request = ListTransactionsRequest::default()
            .with_state_filters(vec![text("Dead")])
            .with_transactional_id_pattern(pattern.map(text));
        let response = call(2, &request);
        assert_eq!(response.error_code, expected, "{pattern:?}");
        assert_eq!(response.unknown_state_filters.len() + response.transaction_states.len(), 0);
    }
}
