//! DescribeUserScramCredentials: v0, where nobody has any.

use std::collections::BTreeMap;

use kafka_protocol::messages::DescribeUserScramCredentialsRequest;
use kafka_protocol::messages::describe_user_scram_credentials_request::UserName;

use crate::client::{call, text};
use crate::codes::{DUPLICATE_RESOURCE, NONE, RESOURCE_NOT_FOUND};

/// Code and message by user; Kafka has them in no order.
fn described(users: Option<&[&str]>) -> BTreeMap<String, (i16, String)> {
    let users = users
        .map(|users| users.iter().map(|name| UserName::default().with_name(text(name))).collect());
    let response = call(0, &DescribeUserScramCredentialsRequest::default().with_users(users));
    assert_eq!((response.error_code, response.error_message.as_deref()), (NONE, Some("")));
    let mut described = BTreeMap::new();
    for result in response.results {
        assert_eq!(result.credential_infos, []);
        let told = (result.error_code, result.error_message.unwrap().to_string());
        assert_eq!(described.insert(result.user.to_string(), told), None);
    }
    described
}

#[test]
fn nobody_has_credentials() {
    assert_eq!(described(None), BTreeMap::new());
    assert_eq!(described(Some(&[])), BTreeMap::new());
    let missing = |name: &str| {
        let message = format!("Attempt to describe a user credential that does not exist: {name}");
        (name.to_owned(), (RESOURCE_NOT_FOUND, message))
    };
    let twice = |name: &str| {
        let words = "Cannot describe SCRAM credentials for the same user twice in a single request";
        (name.to_owned(), (DUPLICATE_RESOURCE, format!("{words}: {name}")))
    };
    let expected = BTreeMap::from([missing("b"), missing(""), twice("a")]);
    assert_eq!(described(Some(&["a", "b", "a", "", "a"])), expected);
}
