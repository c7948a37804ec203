//! Bytes to typed messages and back. Knows no broker.
//!
//! Messages are `kafka_protocol`'s, generated from Kafka 4.1's schemas; this module is the only one that knows their
//! holes (`../Cargo.toml` pins the version they were found in) and closes them: requests are walked against a table of
//! shapes before they are decoded, headers are read by hand, Fetch answers are written by hand, batches stay bytes.

pub mod api;
pub mod batch;
mod builder;
pub mod compression;
mod decode;
pub mod fetch;
mod frame;
mod record;
#[cfg(test)]
mod sample;
mod shape;
mod subscription;
mod varint;
mod walk;

pub use api::Api;
pub use batch::Batch;
pub use builder::Builder;
pub use compression::Compression;
pub use decode::{DecodeError, decode};
pub use frame::{EncodeError, RequestHeader, encode_response};
pub use record::{Headers, Record, RecordError, Records, records};
pub use subscription::subscribed_topics;

/// Kafka's error codes, the language of machines and handlers. NONE is `Ok`.
pub use kafka_protocol::error::ResponseError as ErrorCode;
pub use kafka_protocol::messages;
/// Encoding and decoding of messages; requests go through `decode`, never straight to `Decodable`.
pub use kafka_protocol::protocol;
pub use kafka_protocol::protocol::StrBytes;

/// The code on the wire: 0 for `Ok`.
pub fn code<T>(result: &Result<T, ErrorCode>) -> i16 {
    match result {
        Ok(_) => 0,
        Err(error) => error.code(),
    }
}

/// A string for a response, copied.
pub fn text(string: &str) -> StrBytes {
    StrBytes::from_string(string.to_owned())
}
