//! `ottla health`: asks a broker what it speaks and who serves, and is content when both are answered.
//!
//! The two requests are written by hand, at versions that every broker answers without negotiation.

use std::{
    io::{Error, ErrorKind, Read, Result, Write},
    net::{TcpStream, ToSocketAddrs},
    time::Duration,
};

/// How long connecting, and each answer, may take.
const PATIENCE: Duration = Duration::from_secs(2);
/// Answers are a few hundred bytes; Metadata names the brokers alone.
const ANSWER_BYTES_MAX: usize = 1 << 20;

const API_VERSIONS: i16 = 18;
const METADATA: i16 = 3;

/// Ok when the broker at `address` (`HOST:PORT`) serves.
pub fn check(address: &str) -> Result<()> {
    let mut broker = connect(address)?;
    let versions = ask(&mut broker, API_VERSIONS, 0, &[])?;
    if versions.get(..2) != Some(&[0, 0]) {
        return Err(Error::other("ApiVersions was answered with an error"));
    }
    // Version 1 with an empty list: no topics, the brokers alone.
    let metadata = ask(&mut broker, METADATA, 1, &[0; 4])?;
    let brokers = metadata.first_chunk().copied().map(i32::from_be_bytes);
    if brokers.is_none_or(|count| count < 1) {
        return Err(Error::other("Metadata names no broker"));
    }
    Ok(())
}

fn connect(address: &str) -> Result<TcpStream> {
    let mut last = Error::new(ErrorKind::NotFound, "no such host");
    for address in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(stream) => {
                stream.set_read_timeout(Some(PATIENCE))?;
                stream.set_write_timeout(Some(PATIENCE))?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Sends one request and returns the answer's body.
fn ask(broker: &mut TcpStream, api: i16, version: i16, body: &[u8]) -> Result<Vec<u8>> {
    const CLIENT: &[u8] = b"ottla-health";
    let mut request = Vec::new();
    request.extend(api.to_be_bytes());
    request.extend(version.to_be_bytes());
    request.extend(i32::from(api).to_be_bytes());
    request.extend((CLIENT.len() as i16).to_be_bytes());
    request.extend(CLIENT);
    request.extend(body);
    let mut frame = (request.len() as i32).to_be_bytes().to_vec();
    frame.extend(request);
    broker.write_all(&frame)?;

    let mut size = [0; 4];
    broker.read_exact(&mut size)?;
    let size = usize::try_from(i32::from_be_bytes(size)).unwrap_or(0);
    if !(4..=ANSWER_BYTES_MAX).contains(&size) {
        return Err(Error::new(ErrorKind::InvalidData, "the answer is not Kafka's protocol"));
    }
    let mut answer = vec![0; size];
    broker.read_exact(&mut answer)?;
    let body = answer.split_off(4);
    if answer != i32::from(api).to_be_bytes() {
        return Err(Error::new(ErrorKind::InvalidData, "the answer belongs to another request"));
    }
    Ok(body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{net::TcpListener, thread};

    const VERSIONS: &[u8] = &[0, 0, 0, 0, 0, 0];
    const ONE_BROKER: &[u8] = &[0, 0, 0, 1, 0, 0, 0, 1];

    /// Checks a server that answers with these bodies, one after the other, and then closes.
    fn answered(bodies: &'static [(i16, &'static [u8])]) -> std::result::Result<(), String> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let server = thread::spawn(move || {
            let (mut client, _) = listener.accept().unwrap();
            for (correlation, body) in bodies {
                let mut size = [0; 4];
                client.read_exact(&mut size).unwrap();
                let mut request = vec![0; u32::from_be_bytes(size) as usize];
                client.read_exact(&mut request).unwrap();
                let mut frame = (body.len() as i32 + 4).to_be_bytes().to_vec();
                frame.extend(i32::from(*correlation).to_be_bytes());
                frame.extend(*body);
                client.write_all(&frame).unwrap();
            }
        });
        let checked = check(&address).map_err(|error| error.to_string());
        server.join().unwrap();
        checked
    }

    #[test]
    fn a_broker_is_healthy_when_it_answers_both() {
        assert_eq!(answered(&[(18, VERSIONS), (3, ONE_BROKER)]), Ok(()));
        type Answers = &'static [(i16, &'static [u8])];
        let cases: [(Answers, &str); 5] = [
            (&[(18, &[0, 35])], "ApiVersions was answered with an error"),
            (&[(18, VERSIONS), (3, &[0, 0, 0, 0])], "Metadata names no broker"),
            (&[(18, VERSIONS), (3, &[])], "Metadata names no broker"),
            (&[(7, VERSIONS)], "the answer belongs to another request"),
            (&[(18, VERSIONS), (7, ONE_BROKER)], "the answer belongs to another request"),
        ];
        for (bodies, why) in cases {
            assert_eq!(answered(bodies), Err(why.to_owned()), "{bodies:?}");
        }
        assert!(answered(&[]).is_err());
    }

    #[test]
    fn an_answer_that_is_not_kafkas_is_refused() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let server = thread::spawn(move || {
            let (mut client, _) = listener.accept().unwrap();
            client.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
            client.read_to_end(&mut Vec::new()).unwrap_or_default()
        });
        let error = check(&address).unwrap_err().to_string();
        assert_eq!(error, "the answer is not Kafka's protocol");
        server.join().unwrap();
    }

    #[test]
    fn nobody_there_is_unhealthy() {
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        assert!(check(&free.to_string()).is_err());
        assert!(check("no port").is_err());
    }
}
