//! A connection: blocking, and its two ends can be in two threads. Requests are frames that were encoded before; sending one changes
//! nothing but its correlation id. Answers come in the order of the requests. No retries, no discovery of versions: every
//! version here is one that Kafka 4 serves and that has no tagged fields.

use crate::frames::Frames;
use anyhow::{Context, Result, bail, ensure};
use bytes::{Bytes, BytesMut};
use ottla::wire::{
    StrBytes,
    messages::{RequestHeader, ResponseHeader},
    protocol::{Decodable, Encodable, HeaderVersion, Request},
};
use std::{
    io::{Read, Write},
    net::TcpStream,
    ops::Range,
    sync::Arc,
    time::Duration,
};

/// A broker that is silent for so long has failed.
pub const SILENCE: Duration = Duration::from_secs(120);
/// Small answers come many in one read.
const BUFFER_BYTES: usize = 64 << 10;
/// Where a request has its correlation id: behind length, API key and version.
const CORRELATION_AT: usize = 8;

pub struct Connection {
    pub sender: Sender,
    pub receiver: Receiver,
}

pub struct Sender {
    stream: Arc<TcpStream>,
    /// Correlation id of the next request.
    next: u32,
}

pub struct Receiver {
    stream: Arc<TcpStream>,
    frames: Frames,
    /// Correlation id of the next answer.
    next: u32,
}

impl Connection {
    /// `HOST:PORT`
    pub fn open(address: &str) -> Result<Connection> {
        let stream = TcpStream::connect(address).with_context(|| address.to_owned())?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(SILENCE))?;
        stream.set_write_timeout(Some(SILENCE))?;
        let stream = Arc::new(stream);
        Ok(Connection {
            sender: Sender { stream: stream.clone(), next: 0 },
            receiver: Receiver { stream, frames: Frames::new(BUFFER_BYTES), next: 0 },
        })
    }

    /// A request and its answer; nothing may be in flight.
    pub fn call<R: Request>(&mut self, version: i16, request: &R) -> Result<R::Response> {
        self.sender.send(&mut frame(version, request)?)?;
        let answer = self.receiver.receive()?;
        decode::<R>(version, answer).with_context(|| format!("answer of API {}", R::KEY))
    }
}

impl Sender {
    /// Sends a whole frame, with a correlation id of its own.
    pub fn send(&mut self, frame: &mut [u8]) -> Result<()> {
        frame[CORRELATION_AT..CORRELATION_AT + 4].copy_from_slice(&self.next.to_be_bytes());
        self.next = self.next.wrapping_add(1);
        (&*self.stream).write_all(frame).context("sending a request")
    }
}

impl Receiver {
    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// The next answer behind its correlation id, which is checked. Waits for it.
    pub fn receive(&mut self) -> Result<&[u8]> {
        let frame = loop {
            if let Some(frame) = self.frames.next()? {
                break frame;
            }
            self.read()?;
        };
        self.answer(frame)
    }

    /// As `receive`, if all of it has been read.
    pub fn next(&mut self) -> Result<Option<&[u8]>> {
        match self.frames.next()? {
            Some(frame) => self.answer(frame).map(Some),
            None => Ok(None),
        }
    }

    /// Reads what is there, and waits if nothing is.
    pub fn read(&mut self) -> Result<()> {
        let size = (&*self.stream).read(self.frames.space()?).context("waiting for an answer")?;
        ensure!(size > 0, "the broker closed the connection");
        self.frames.filled(size);
        Ok(())
    }

    fn answer(&mut self, frame: Range<usize>) -> Result<&[u8]> {
        let Some((correlation, answer)) = self.frames.bytes(frame).split_first_chunk() else {
            bail!("an answer without a header");
        };
        let (correlation, expected) = (u32::from_be_bytes(*correlation), self.next);
        ensure!(correlation == expected, "answer {correlation} instead of {expected}");
        self.next = self.next.wrapping_add(1);
        Ok(answer)
    }
}

/// A whole request frame, its length included.
pub fn frame<R: Request>(version: i16, request: &R) -> Result<Vec<u8>> {
    let header = RequestHeader::default()
        .with_request_api_key(R::KEY)
        .with_request_api_version(version)
        .with_client_id(Some(StrBytes::from_static_str("ottla-bench")));
    let mut bytes = BytesMut::zeroed(4);
    header.encode(&mut bytes, R::header_version(version))?;
    request.encode(&mut bytes, version)?;
    let length = u32::try_from(bytes.len() - 4)?;
    bytes[..4].copy_from_slice(&length.to_be_bytes());
    Ok(bytes.to_vec())
}

fn decode<R: Request>(version: i16, answer: &[u8]) -> Result<R::Response> {
    let header_version = <R::Response as HeaderVersion>::header_version(version);
    // The correlation id is gone, and tagged fields are the rest of a header.
    let mut bytes = BytesMut::zeroed(4);
    bytes.extend_from_slice(answer);
    let mut bytes: Bytes = bytes.freeze();
    ResponseHeader::decode(&mut bytes, header_version)?;
    let response = R::Response::decode(&mut bytes, version)?;
    ensure!(bytes.is_empty(), "{} bytes left over", bytes.len());
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ottla::wire::messages::ApiVersionsRequest;

    #[test]
    fn a_correlation_id_is_put_where_the_header_has_it() {
        let (listener, mut connection) = pair();
        let mut frame = frame(0, &ApiVersionsRequest::default()).unwrap();
        connection.sender.next = 0x0102_0304;
        connection.sender.send(&mut frame).unwrap();
        let mut sent = vec![0; frame.len()];
        listener.accept().unwrap().0.read_exact(&mut sent).unwrap();
        let mut header = Bytes::from(sent).slice(4..);
        let header = RequestHeader::decode(&mut header, 1).unwrap();
        assert_eq!((header.request_api_key, header.correlation_id), (18, 0x0102_0304));
        assert_eq!(header.client_id.unwrap().as_str(), "ottla-bench");
    }

    #[test]
    fn an_answer_to_another_request_is_an_error() {
        let (listener, mut connection) = pair();
        let mut broker = listener.accept().unwrap().0;
        broker.write_all(&[0, 0, 0, 6, 0, 0, 0, 0, 7, 7, 0, 0, 0, 4, 0, 0, 0, 2]).unwrap();
        assert_eq!(connection.receiver.receive().unwrap(), [7, 7]);
        let error = connection.receiver.receive().unwrap_err();
        assert_eq!(error.to_string(), "answer 2 instead of 1");
    }

    fn pair() -> (std::net::TcpListener, Connection) {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        (listener, Connection::open(&address).unwrap())
    }
}
