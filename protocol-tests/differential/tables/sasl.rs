//! SaslHandshake: v0-1, SaslAuthenticate: v0-2, on a listener without SASL.

use kafka_protocol::messages::{SaslAuthenticateRequest, SaslHandshakeRequest};

use super::{Case, case, check};
use crate::client::text;

const HANDSHAKE: &[Case] = &[case("where there is no SASL", 0..=1, |t| {
    t.try_ask(&SaslHandshakeRequest::default().with_mechanism(text("PLAIN")));
    t.try_ask(&SaslHandshakeRequest::default().with_mechanism(text("")));
})];

const AUTHENTICATE: &[Case] = &[case("where there is no SASL", 0..=2, |t| {
    t.try_ask(&SaslAuthenticateRequest::default().with_auth_bytes("\0a\0b".into()));
})];

#[test]
fn sasl_handshake() {
    check("sasl_handshake", 17, HANDSHAKE);
}

#[test]
fn sasl_authenticate() {
    check("sasl_authenticate", 36, AUTHENTICATE);
}
