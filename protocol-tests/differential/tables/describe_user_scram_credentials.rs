//! DescribeUserScramCredentials: v0, when there are none.

use kafka_protocol::messages::DescribeUserScramCredentialsRequest;
use kafka_protocol::messages::describe_user_scram_credentials_request::UserName;

use super::{Case, case, check};
use crate::client::text;

fn of(users: Option<&[&str]>) -> DescribeUserScramCredentialsRequest {
    let user = |name: &&str| UserName::default().with_name(text(name));
    let users = users.map(|users| users.iter().map(user).collect());
    DescribeUserScramCredentialsRequest::default().with_users(users)
}

const CASES: &[Case] = &[
    case("all, none, an unknown one", 0..=0, |t| {
        t.ask(&of(None));
        t.ask(&of(Some(&[])));
        t.ask(&of(Some(&["differential-nobody"])));
        t.ask(&of(Some(&[""])));
    }),
    case("one twice", 0..=0, |t| {
        t.ask(&of(Some(&["differential-nobody", "differential-nobody"])));
    }),
];

#[test]
fn describe_user_scram_credentials() {
    check("describe_user_scram_credentials", 50, CASES);
}
