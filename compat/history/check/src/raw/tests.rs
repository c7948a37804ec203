use super::*;
use kafka_protocol::messages::{ApiVersionsRequest, ApiVersionsResponse};
use std::net::TcpListener;

/// A broker for one connection, which gets one frame and sends these bytes.
fn answers(bytes: Vec<u8>) -> (String, std::thread::JoinHandle<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let broker = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut size = [0; 4];
        stream.read_exact(&mut size).unwrap();
        let mut frame = vec![0; i32::from_be_bytes(size) as usize];
        stream.read_exact(&mut frame).unwrap();
        stream.write_all(&bytes).unwrap();
        frame
    });
    (address, broker)
}

fn answer(correlation: i32) -> Vec<u8> {
    let mut body = BytesMut::new();
    ResponseHeader::default().with_correlation_id(correlation).encode(&mut body, 0).unwrap();
    ApiVersionsResponse::default().with_error_code(35).encode(&mut body, 0).unwrap();
    [&(body.len() as i32).to_be_bytes()[..], &body].concat()
}

fn call(bytes: Vec<u8>) -> Result<ApiVersionsResponse, CallError> {
    let (address, broker) = answers(bytes);
    let result = Connection::open(&address).unwrap().call(0, &ApiVersionsRequest::default());
    // Key 18, version 0, correlation id 1.
    assert_eq!(broker.join().unwrap()[..8], [0, 18, 0, 0, 0, 0, 0, 1]);
    result
}

#[test]
fn a_request_is_a_frame_and_its_answer_is_decoded() {
    assert_eq!(call(answer(1)).unwrap().error_code, 35);
}

#[test]
fn an_answer_to_something_else_or_with_bytes_left_over_is_malformed() {
    assert!(matches!(call(answer(2)), Err(CallError::Malformed(_))));
    let mut longer = answer(1);
    longer.push(0);
    longer[3] += 1;
    assert!(matches!(call(longer), Err(CallError::Malformed(_))));
    assert!(matches!(call(vec![0x7f, 0xff, 0xff, 0xff]), Err(CallError::Malformed(_))));
}

#[test]
fn a_connection_that_ends_leaves_the_outcome_unknown() {
    let half = answer(1)[..6].to_vec();
    assert!(matches!(call(half), Err(CallError::Io(_))));
}
