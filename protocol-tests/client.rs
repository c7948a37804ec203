//! A raw client: frames out, whole frames in.
//!
//! Every answer is checked here, whatever its test looks at: its correlation id, its header version, that no byte is
//! left over, and that encoding what was decoded gives the same bytes again (no null where Kafka sends an empty value
//! a schema has no null for, no tagged field written with its default).

use std::any::Any;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use kafka_protocol::messages::{FetchResponse, JoinGroupResponse, RequestHeader, ResponseHeader};
use kafka_protocol::protocol::{Decodable, Encodable, HeaderVersion, Request, StrBytes};

use crate::broker;

/// Longer than any answer may take: the longest wait a test asks for is 5 s.
const READ_TIMEOUT: Duration = Duration::from_secs(20);

pub struct Client {
    stream: TcpStream,
    correlation: i32,
}

impl Client {
    pub fn connect() -> Client {
        Client::connect_to(broker::address())
    }

    /// To another broker than the one under test; `HOST:PORT`.
    pub fn connect_to(address: &str) -> Client {
        let stream = TcpStream::connect(address).expect("the broker accepts connections");
        stream.set_read_timeout(Some(READ_TIMEOUT)).unwrap();
        stream.set_nodelay(true).unwrap();
        Client { stream, correlation: 0 }
    }

    /// Waits this long for answers.
    pub fn patient(self, patience: Duration) -> Client {
        self.stream.set_read_timeout(Some(patience)).unwrap();
        self
    }

    /// Sends a request and waits for its answer.
    #[track_caller]
    pub fn call<R: Request>(&mut self, version: i16, request: &R) -> R::Response
    where
        R::Response: 'static,
    {
        let correlation = self.send(version, request);
        self.receive::<R>(version, correlation)
    }

    /// Sends a request; gives its correlation id.
    pub fn send<R: Request>(&mut self, version: i16, request: &R) -> i32 {
        self.correlation += 1;
        let frame = frame(version, self.correlation, request);
        self.send_bytes(&frame);
        self.correlation
    }

    /// Sends bytes as they are: the caller has written the size.
    pub fn send_bytes(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("the connection is open");
    }

    /// The next answer, which must belong to `correlation`.
    #[track_caller]
    pub fn receive<R: Request>(&mut self, version: i16, correlation: i32) -> R::Response
    where
        R::Response: 'static,
    {
        let frame = self.read_frame().expect("an answer, not a closed connection");
        decode::<R>(version, correlation, frame)
    }

    /// A whole frame without its size; None when the broker closed the connection.
    pub fn read_frame(&mut self) -> Option<Bytes> {
        let mut size = [0; 4];
        if let Err(error) = self.stream.read_exact(&mut size) {
            match error.kind() {
                ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset => return None,
                _ => panic!("no answer: {error}"),
            }
        }
        let mut frame = BytesMut::zeroed(usize::try_from(i32::from_be_bytes(size)).unwrap());
        self.stream.read_exact(&mut frame).expect("the rest of a frame");
        Some(frame.freeze())
    }

    /// Waits until there is something to read, and does not read it.
    pub fn await_bytes(&self) {
        let seen = self.stream.peek(&mut [0]).expect("bytes come");
        assert_eq!(seen, 1, "the connection is open");
    }

    #[track_caller]
    pub fn assert_closed(&mut self) {
        assert_eq!(self.read_frame(), None, "the broker must close the connection");
    }

    /// Nothing more is sent by this side; answers still come.
    pub fn shutdown_write(&mut self) {
        // Fails where the broker has closed the connection already: whoever reads next sees that.
        let _ = self.stream.shutdown(std::net::Shutdown::Write);
    }
}

/// One call on a connection of its own.
#[track_caller]
pub fn call<R: Request>(version: i16, request: &R) -> R::Response
where
    R::Response: 'static,
{
    Client::connect().call(version, request)
}

/// A request as it goes over the wire, size included.
pub fn frame<R: Request>(version: i16, correlation: i32, request: &R) -> Bytes {
    let mut body = BytesMut::new();
    header(R::KEY, version, correlation).encode(&mut body, R::header_version(version)).unwrap();
    request.encode(&mut body, version).expect("the request can be written at this version");
    sized(&body)
}

pub fn header(key: i16, version: i16, correlation: i32) -> RequestHeader {
    RequestHeader::default()
        .with_request_api_key(key)
        .with_request_api_version(version)
        .with_correlation_id(correlation)
        .with_client_id(Some(text("protocol-tests")))
}

/// The bytes with their size in front.
pub fn sized(body: &[u8]) -> Bytes {
    let size = i32::try_from(body.len()).unwrap();
    [&size.to_be_bytes()[..], body].concat().into()
}

/// An answer from its frame.
#[track_caller]
pub fn decode<R: Request>(version: i16, correlation: i32, mut frame: Bytes) -> R::Response
where
    R::Response: 'static,
{
    let whole = frame.clone();
    let header_version = <R::Response as HeaderVersion>::header_version(version);
    let header = ResponseHeader::decode(&mut frame, header_version).expect("a response header");
    assert_eq!(header.correlation_id, correlation, "correlation id of key {}", R::KEY);
    let body = frame.clone();
    let response = R::Response::decode(&mut frame, version)
        .unwrap_or_else(|error| panic!("key {} v{version}: {error}: {whole:02x?}", R::KEY));
    assert!(!frame.has_remaining(), "key {} v{version}: bytes left over: {frame:02x?}", R::KEY);
    let mut again = BytesMut::new();
    response.encode(&mut again, version).expect("what was decoded can be encoded");
    assert_eq!(again.freeze(), body, "key {} v{version}: not the canonical bytes", R::KEY);
    lint(version, &response);
    response
}

/// What the schema allows and clients do not: librdkafka fails on a fetched partition without records (KAFKA-18646).
#[track_caller]
fn lint(version: i16, response: &dyn Any) {
    if let Some(fetched) = response.downcast_ref::<FetchResponse>() {
        for partition in fetched.responses.iter().flat_map(|topic| &topic.partitions) {
            assert!(partition.records.is_some(), "Fetch v{version}: null records");
        }
    }
    if let Some(joined) = response.downcast_ref::<JoinGroupResponse>() {
        let named = joined.protocol_name.is_some();
        assert!(named || version >= 7, "JoinGroup v{version}: null protocol name");
    }
}

pub fn text(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}
