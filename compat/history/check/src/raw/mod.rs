//! A client of our own: frames over TCP, one request at a time, no retries. For what librdkafka hides: which answer came
//! for which attempt, and the high watermark that came with the records.

pub mod batch;

use bytes::{Buf, Bytes, BytesMut};
use kafka_protocol::{
    messages::{RequestHeader, ResponseHeader},
    protocol::{Decodable, Encodable, HeaderVersion, Request, StrBytes},
};
use std::{
    io::{self, Read, Write},
    net::{TcpStream, ToSocketAddrs},
    time::Duration,
};

/// As the `request.timeout.ms` of the other clients.
const TIMEOUT: Duration = Duration::from_secs(3);
/// More than any answer here may be.
const ANSWER_BYTES_MAX: usize = 64 << 20;

pub struct Connection {
    stream: TcpStream,
    correlation: i32,
}

/// Why there is no answer. The request may have been carried out.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    #[error("{0}")]
    Io(#[from] io::Error),
    /// An answer that cannot be one: always the broker's fault.
    #[error("not an answer: {0}")]
    Malformed(String),
}

impl Connection {
    /// `HOST:PORT`
    pub fn open(address: &str) -> io::Result<Connection> {
        let unknown = || io::Error::new(io::ErrorKind::InvalidInput, "no such host");
        let address = address.to_socket_addrs()?.next().ok_or_else(unknown)?;
        let stream = TcpStream::connect_timeout(&address, TIMEOUT)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        stream.set_nodelay(true)?;
        Ok(Connection { stream, correlation: 0 })
    }

    pub fn call<R: Request>(
        &mut self,
        version: i16,
        request: &R,
    ) -> Result<R::Response, CallError> {
        self.send(version, request)?;
        self.receive::<R>(version)
    }

    /// Sends a request whose answer `receive` takes.
    pub fn send<R: Request>(&mut self, version: i16, request: &R) -> Result<(), CallError> {
        self.correlation += 1;
        let frame = frame(version, self.correlation, request)
            .map_err(|error| CallError::Io(io::Error::other(error)))?;
        Ok(self.stream.write_all(&frame)?)
    }

    pub fn receive<R: Request>(&mut self, version: i16) -> Result<R::Response, CallError> {
        let mut size = [0; 4];
        self.stream.read_exact(&mut size)?;
        let size = usize::try_from(i32::from_be_bytes(size)).unwrap_or(usize::MAX);
        if size > ANSWER_BYTES_MAX {
            return Err(CallError::Malformed(format!("{size} bytes")));
        }
        let mut answer = BytesMut::zeroed(size);
        self.stream.read_exact(&mut answer)?;
        decode::<R>(version, self.correlation, answer.freeze())
    }
}

fn frame<R: Request>(version: i16, correlation: i32, request: &R) -> Result<Bytes, String> {
    let header = RequestHeader::default()
        .with_request_api_key(R::KEY)
        .with_request_api_version(version)
        .with_correlation_id(correlation)
        .with_client_id(Some(StrBytes::from_static_str("ottla-check")));
    let mut body = BytesMut::new();
    header.encode(&mut body, R::header_version(version)).map_err(|error| error.to_string())?;
    request.encode(&mut body, version).map_err(|error| error.to_string())?;
    let size = i32::try_from(body.len()).map_err(|error| error.to_string())?;
    Ok([&size.to_be_bytes()[..], &body].concat().into())
}

fn decode<R: Request>(
    version: i16,
    correlation: i32,
    mut answer: Bytes,
) -> Result<R::Response, CallError> {
    let malformed = |why: String| CallError::Malformed(format!("key {} v{version}: {why}", R::KEY));
    let header_version = <R::Response as HeaderVersion>::header_version(version);
    let header = ResponseHeader::decode(&mut answer, header_version)
        .map_err(|error| malformed(error.to_string()))?;
    if header.correlation_id != correlation {
        return Err(malformed(format!("correlation id {}", header.correlation_id)));
    }
    let response =
        R::Response::decode(&mut answer, version).map_err(|error| malformed(error.to_string()))?;
    if answer.has_remaining() {
        return Err(malformed(format!("{} bytes left over", answer.remaining())));
    }
    Ok(response)
}

#[cfg(test)]
mod tests;
