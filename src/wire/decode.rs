//! Bytes of a request's body to the crate's message: walked first, then decoded.

use super::{
    shape,
    walk::{walk, with_utf8},
};
use crate::limits::{REQUEST_ELEMENTS_MAX, REQUEST_ELEMENTS_MAX_UNAUTHENTICATED};
use bytes::Bytes;
use kafka_protocol::protocol::Decodable;

/// Why a frame is not a request. The connection is closed, as Kafka does.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    #[error("Kafka 4.1 has no request with API key {api_key} and version {version}")]
    UnknownRequest { api_key: i16, version: i16 },
    #[error("the bytes end before the request does")]
    Truncated,
    #[error("a varint of more than 32 bits")]
    Varint,
    /// Negative where null is not allowed, or below -1.
    #[error("a length of {0}")]
    Length(i64),
    #[error("a string of {0} bytes")]
    TooLong(usize),
    #[error("an array of {count} elements with {left} bytes left")]
    Count { count: usize, left: usize },
    #[error("too many array elements and tagged fields")]
    TooManyElements,
    #[error("the decoded request would take too much memory")]
    TooMuchMemory,
    #[error("tagged field {0} is not as long as it says")]
    TagSize(u32),
    /// What the walker does not see: a tag at a version that lacks it.
    #[error("{0}")]
    Message(String),
}

/// Decodes the body of a request: `R` must be the request of `api_key`. Its strings and bytes are slices of `body`: copy
/// what outlives the request. Bytes of strings that are not UTF-8 become `?`. Before authentication less is allowed.
pub fn decode<R: Decodable>(
    api_key: i16,
    version: i16,
    body: Bytes,
    authenticated: bool,
) -> Result<R, DecodeError> {
    let fields =
        shape::request(api_key, version).ok_or(DecodeError::UnknownRequest { api_key, version })?;
    let elements_max =
        if authenticated { REQUEST_ELEMENTS_MAX } else { REQUEST_ELEMENTS_MAX_UNAUTHENTICATED };
    walk(fields, &body, elements_max)?;
    R::decode(&mut body.clone(), version).or_else(|error| {
        let error = DecodeError::Message(error.to_string());
        let mut body = Bytes::from(with_utf8(fields, &body).ok_or(error)?);
        R::decode(&mut body, version).map_err(|error| DecodeError::Message(error.to_string()))
    })
}

#[cfg(test)]
mod tests;
