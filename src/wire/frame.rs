//! Frames: the request header read by hand, and whole response frames with their length prefix.
//!
//! Header versions (KIP-482): a flexible version's request header has a tagged section, and so has its response header,
//! except that of ApiVersions, which a client must be able to read before it knows the broker's versions.
//! Not here: splitting a stream into frames (`net`), Fetch answers made of pieces (`fetch`).

use super::{api::Api, decode::DecodeError, walk::unsigned_varint};
use bytes::{Buf, BufMut, Bytes, BytesMut};
use kafka_protocol::protocol::{Encodable, StrBytes};

/// Who asks for what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestHeader {
    pub api_key: i16,
    pub api_version: i16,
    /// Comes back in the response.
    pub correlation_id: i32,
    /// Bytes that are not UTF-8 are replaced, as Java does.
    pub client_id: Option<StrBytes>,
}

impl RequestHeader {
    /// API key and version: what decides whether and how the rest can be read.
    pub fn peek(frame: &[u8]) -> Result<(i16, i16), DecodeError> {
        match frame {
            [k0, k1, v0, v1, ..] => {
                Ok((i16::from_be_bytes([*k0, *k1]), i16::from_be_bytes([*v0, *v1])))
            }
            _ => Err(DecodeError::Truncated),
        }
    }

    /// Takes the header off a frame (without its length prefix) and leaves the body. `api` is the one that was peeked.
    pub fn parse(frame: &mut Bytes, api: &Api) -> Result<RequestHeader, DecodeError> {
        let mut left: &[u8] = frame;
        let (api_key, api_version) = RequestHeader::peek(left)?;
        left.advance(4);
        let correlation_id = left.try_get_i32().map_err(|_| DecodeError::Truncated)?;
        // Never compact: the one string of a flexible header that keeps its int16 length.
        let client_id = match left.try_get_i16().map_err(|_| DecodeError::Truncated)? {
            -1 => None,
            len => {
                let len = usize::try_from(len).map_err(|_| DecodeError::Length(len.into()))?;
                let (client_id, after) =
                    left.split_at_checked(len).ok_or(DecodeError::Truncated)?;
                left = after;
                Some(match StrBytes::from_utf8(frame.slice_ref(client_id)) {
                    Ok(client_id) => client_id,
                    Err(_) => StrBytes::from_string(String::from_utf8_lossy(client_id).into()),
                })
            }
        };
        if api.is_flexible(api_version) {
            for _ in 0..unsigned_varint(&mut left)? {
                unsigned_varint(&mut left)?;
                let size = unsigned_varint(&mut left)? as usize;
                left = left.get(size..).ok_or(DecodeError::Truncated)?;
            }
        }
        frame.advance(frame.len() - left.len());
        Ok(RequestHeader { api_key, api_version, correlation_id, client_id })
    }
}

/// A message cannot be written at this version: a field is set that the version lacks, or it is too large. A bug of ours.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot encode {api} v{version}: {reason}")]
pub struct EncodeError {
    pub api: &'static str,
    pub version: i16,
    pub reason: String,
}

/// A whole response frame, length prefix included, in one allocation.
pub fn encode_response(
    api: &Api,
    version: i16,
    correlation_id: i32,
    body: &impl Encodable,
) -> Result<Bytes, EncodeError> {
    let failed = |reason: String| EncodeError { api: api.name, version, reason };
    let size = body.compute_size(version).map_err(|error| failed(error.to_string()))?;
    let mut frame = begin_response(api, version, correlation_id, size);
    body.encode(&mut frame, version).map_err(|error| failed(error.to_string()))?;
    set_length(&mut frame, 0).map_err(failed)?;
    Ok(frame.freeze())
}

/// Begins a response frame: room for the length, then the header. `size` bytes of body will follow.
pub(super) fn begin_response(
    api: &Api,
    version: i16,
    correlation_id: i32,
    size: usize,
) -> BytesMut {
    let mut frame = BytesMut::with_capacity(9 + size);
    frame.put_i32(0);
    frame.put_i32(correlation_id);
    if api.has_flexible_response_header(version) {
        frame.put_u8(0);
    }
    frame
}

/// Ends a frame: fills in the length of everything behind it, `more` bytes that are kept elsewhere included.
pub(super) fn set_length(frame: &mut BytesMut, more: usize) -> Result<(), String> {
    let len = frame.len().saturating_add(more).saturating_sub(4);
    let len = i32::try_from(len).map_err(|_| format!("{len} bytes are too many for a frame"))?;
    frame[..4].copy_from_slice(&len.to_be_bytes());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use kafka_protocol::messages::{
        ApiVersionsResponse, RequestHeader as CrateHeader, api_versions_response::ApiVersion,
    };

    const METADATA: Api = Api::new(3, "Metadata", 0, 13, 9);
    const API_VERSIONS: Api = Api::new(18, "ApiVersions", 0, 4, 3);

    fn header(
        version: i16,
        client_id: Option<&'static str>,
        tags: &[(i32, &'static [u8])],
    ) -> Bytes {
        let mut header = CrateHeader::default()
            .with_request_api_key(3)
            .with_request_api_version(version)
            .with_correlation_id(77)
            .with_client_id(client_id.map(StrBytes::from_static_str));
        for (tag, value) in tags {
            header = header.with_unknown_tagged_field(*tag, Bytes::from_static(value));
        }
        let mut buf = BytesMut::new();
        header.encode(&mut buf, if version >= 9 { 2 } else { 1 }).unwrap();
        buf.put_slice(b"body");
        buf.freeze()
    }

    #[test]
    fn a_header_is_taken_off_its_frame() {
        for (version, client_id, tags) in [
            (8, Some("me"), &[][..]),
            (8, None, &[]),
            (9, Some(""), &[]),
            (9, None, &[(0, &b"x"[..]), (300, b"")]),
        ] {
            let mut frame = header(version, client_id, tags);
            let parsed = RequestHeader::parse(&mut frame, &METADATA).unwrap();
            let expected = RequestHeader {
                api_key: 3,
                api_version: version,
                correlation_id: 77,
                client_id: client_id.map(StrBytes::from_static_str),
            };
            assert_eq!((parsed, &frame[..]), (expected, &b"body"[..]));
        }
    }

    #[test]
    fn a_cut_or_spoilt_header_is_an_error() {
        for version in [8, 9] {
            let whole = header(version, Some("me"), &[(5, &b"tag"[..])][..version as usize - 8]);
            for len in 0..whole.len() - 4 {
                let mut cut = whole.slice(..len);
                assert!(RequestHeader::parse(&mut cut, &METADATA).is_err(), "{len}");
            }
        }
        let mut negative = Bytes::from_static(&[0, 3, 0, 0, 0, 0, 0, 1, 0xff, 0xfe]);
        assert_eq!(RequestHeader::parse(&mut negative, &METADATA), Err(DecodeError::Length(-2)));
        let mut latin1 = Bytes::from_static(&[0, 3, 0, 0, 0, 0, 0, 1, 0, 1, 0xe9]);
        let parsed = RequestHeader::parse(&mut latin1, &METADATA).unwrap();
        assert_eq!(parsed.client_id.unwrap().as_str(), "\u{fffd}");
    }

    #[test]
    fn a_response_frame_is_whole_and_fits_its_buffer() {
        let body = ApiVersionsResponse::default()
            .with_api_keys(vec![ApiVersion::default().with_api_key(18).with_max_version(4)]);
        let frame = encode_response(&API_VERSIONS, 0, 7, &body).unwrap();
        assert_eq!(frame[..], [0, 0, 0, 16, 0, 0, 0, 7, 0, 0, 0, 0, 0, 1, 0, 18, 0, 0, 0, 4]);
        let flexible = encode_response(&API_VERSIONS, 3, 7, &body).unwrap();
        assert_eq!(flexible[..12], [0, 0, 0, 19, 0, 0, 0, 7, 0, 0, 2, 0], "header version 0");
        let other = Api::new(60, "Other", 0, 4, 3);
        let tagged = encode_response(&other, 3, 7, &body).unwrap();
        assert_eq!(tagged[..12], [0, 0, 0, 20, 0, 0, 0, 7, 0, 0, 0, 2], "header version 1");
    }
}
