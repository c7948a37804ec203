use super::*;
use std::time::Duration;
use tokio::time::timeout;

/// A broker that sends back what it gets.
async fn echo() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut from, mut to) = stream.split();
                let _ = tokio::io::copy(&mut from, &mut to).await;
            });
        }
    });
    address
}

async fn proxied() -> (Proxy, TcpStream) {
    let proxy = Proxy::start("127.0.0.1:0", echo().await).await.unwrap();
    let mut client = TcpStream::connect(proxy.address()).await.unwrap();
    assert_eq!(said(&mut client, b"hello").await.unwrap(), b"hello");
    (proxy, client)
}

/// What comes back for `bytes`.
async fn said(client: &mut TcpStream, bytes: &[u8]) -> io::Result<Vec<u8>> {
    client.write_all(bytes).await?;
    let mut back = vec![0; bytes.len()];
    client.read_exact(&mut back).await?;
    Ok(back)
}

async fn next(client: &mut TcpStream) -> io::Result<usize> {
    client.read(&mut [0; 64]).await
}

#[tokio::test]
async fn a_reset_is_a_reset_and_an_end_is_an_end() {
    let (proxy, mut client) = proxied().await;
    proxy.cut(Cut::Reset, Whose::All);
    assert_eq!(next(&mut client).await.unwrap_err().kind(), io::ErrorKind::ConnectionReset);

    let (proxy, mut client) = proxied().await;
    proxy.cut(Cut::Finish, Whose::All);
    assert_eq!(next(&mut client).await.unwrap(), 0);
}

#[tokio::test]
async fn a_torn_connection_passes_half_and_is_reset() {
    let broker = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = broker.local_addr().unwrap().to_string();
    let proxy = Proxy::start("127.0.0.1:0", address).await.unwrap();
    let mut client = TcpStream::connect(proxy.address()).await.unwrap();
    let (mut broker, _) = broker.accept().await.unwrap();
    client.write_all(b"1234").await.unwrap();
    broker.read_exact(&mut [0; 4]).await.unwrap();
    proxy.cut(Cut::Torn, Whose::All);
    // Nothing happens until there are bytes to tear.
    assert!(timeout(Duration::from_millis(20), next(&mut client)).await.is_err());
    client.write_all(b"12345678").await.unwrap();
    let mut passed = Vec::new();
    // A reset may overtake what is not read yet, but never lets more through.
    let _ = broker.read_to_end(&mut passed).await;
    assert!(passed.len() <= 4, "{passed:?}");
    assert_eq!(next(&mut client).await.unwrap_err().kind(), io::ErrorKind::ConnectionReset);
}

#[tokio::test]
async fn half_of_the_connections_are_cut() {
    let (proxy, mut first) = proxied().await;
    let mut second = TcpStream::connect(proxy.address()).await.unwrap();
    said(&mut second, b"hello").await.unwrap();
    proxy.cut(Cut::Finish, Whose::Odd);
    assert_eq!(next(&mut second).await.unwrap(), 0);
    assert_eq!(said(&mut first, b"still").await.unwrap(), b"still");
    proxy.cut(Cut::Finish, Whose::Even);
    assert_eq!(next(&mut first).await.unwrap(), 0);
    assert_eq!(proxy.counts().accepted.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn a_stall_holds_up_and_loses_nothing() {
    for way in [Way::ToBroker, Way::ToClient, Way::Both] {
        let (proxy, mut client) = proxied().await;
        proxy.stall(way);
        let mut waiting = Box::pin(said(&mut client, b"late"));
        assert!(timeout(Duration::from_millis(20), &mut waiting).await.is_err(), "{way:?}");
        proxy.flow();
        assert_eq!(waiting.await.unwrap(), b"late", "{way:?}");
    }
}

#[tokio::test]
async fn without_a_broker_connections_end_at_once() {
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let proxy = Proxy::start("127.0.0.1:0", closed.to_string()).await.unwrap();
    let mut client = TcpStream::connect(proxy.address()).await.unwrap();
    assert_eq!(next(&mut client).await.unwrap_or(0), 0);
}
