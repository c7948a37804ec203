//! DescribeTransactions: v0, where there are none.

use kafka_protocol::messages::DescribeTransactionsRequest;

use crate::broker;
use crate::client::{call, text};
use crate::codes::{INVALID_REQUEST, NOT_COORDINATOR, TRANSACTIONAL_ID_NOT_FOUND};
use crate::fixtures::unique;

#[test]
fn nobody_has_a_transactional_id() {
    let id = unique("transaction");
    let ids = [id.as_str(), "", &id].map(|id| text(id).into()).to_vec();
    let request = DescribeTransactionsRequest::default().with_transactional_ids(ids.clone());
    let states = call(0, &request).transaction_states;
    assert_eq!(states.len(), 3);
    for (state, id) in states.iter().zip(ids) {
        assert_eq!(state.transactional_id, id);
        // Before the first transaction no Kafka coordinates any.
        let untouched = broker::is_foreign() && state.error_code == NOT_COORDINATOR;
        match id.as_str() {
            "" => assert_eq!(state.error_code, INVALID_REQUEST),
            _ => assert!(untouched || state.error_code == TRANSACTIONAL_ID_NOT_FOUND, "{state:?}"),
        }
        assert_eq!((state.transaction_state.as_str(), state.topics.len()), ("", 0));
        assert_eq!((state.producer_id.0, state.producer_epoch), (0, 0));
    }
    assert_eq!(call(0, &DescribeTransactionsRequest::default()).transaction_states, []);
}
