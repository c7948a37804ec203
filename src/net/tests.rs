//! Connections over loopback sockets, with a stand-in for the handlers.

use super::*;
use crate::{
    config::Listener,
    handlers::{Answer, FileRange, Slice},
    limits,
};
use futures_util::{Stream, future::BoxFuture, stream};
use std::{
    future::{pending, ready},
    io::Write,
    net::SocketAddr,
    sync::atomic::{AtomicUsize, Ordering},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::{Mutex, mpsc, oneshot, watch},
    task::JoinHandle,
};

const PRODUCE: i16 = 0;
const METADATA: i16 = 3;

type Handler = dyn Fn(Bytes) -> BoxFuture<'static, Begun> + Send + Sync;

#[derive(Clone)]
struct Stand(Arc<Handler>);

impl Dispatch for Stand {
    async fn begin(&self, _session: &mut Session, frame: Bytes) -> Begun {
        (self.0)(frame).await
    }
}

struct Server {
    addr: SocketAddr,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

const SETTINGS: Settings =
    Settings { request_bytes_max: 100 << 20, connections_max: 10_000, backlog: 50, idle: None };

fn local(port: u16) -> Listener {
    let host = Some("127.0.0.1".to_owned());
    Listener { name: "PLAINTEXT".to_owned(), host, port, advertised: None }
}

fn start(
    settings: Settings,
    handler: impl Fn(Bytes) -> BoxFuture<'static, Begun> + Send + Sync + 'static,
) -> Server {
    start_with(settings, stream::pending(), handler)
}

fn start_with(
    settings: Settings,
    limits: impl Stream<Item = usize> + Send + 'static,
    handler: impl Fn(Bytes) -> BoxFuture<'static, Begun> + Send + Sync + 'static,
) -> Server {
    let bound = bind(&local(0)).unwrap();
    let addr = bound.addr();
    let (stop, shutdown) = watch::channel(false);
    let stand = Stand(Arc::new(handler));
    let task = listener::serve_with(bound, 0, stand, settings, limits, shutdown).unwrap();
    Server { addr, stop, task }
}

fn frame(api_key: i16, payload: &[u8]) -> Vec<u8> {
    let mut frame = ((payload.len() + 2) as i32).to_be_bytes().to_vec();
    frame.extend(api_key.to_be_bytes());
    frame.extend(payload);
    frame
}

fn reply(payload: &[u8]) -> Answer {
    let mut frame = (payload.len() as i32).to_be_bytes().to_vec();
    frame.extend(payload);
    Answer::Reply(vec![Slice::Bytes(frame.into())])
}

/// Answers each request with its own payload.
fn echo(frame: Bytes) -> BoxFuture<'static, Begun> {
    Box::pin(ready(Begun::Answered(reply(&frame[2..]))))
}

struct Client(TcpStream);

impl Client {
    async fn to(server: &Server) -> Client {
        Client(TcpStream::connect(server.addr).await.unwrap())
    }
    async fn send(&mut self, api_key: i16, payload: &[u8]) {
        self.0.write_all(&frame(api_key, payload)).await.unwrap();
    }
    async fn answer(&mut self) -> Vec<u8> {
        let len = self.0.read_i32().await.unwrap();
        let mut payload = vec![0; len as usize];
        self.0.read_exact(&mut payload).await.unwrap();
        payload
    }
    /// What still comes until the server closes.
    async fn rest(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        // A reset is a close too: it happens when the server has not read everything.
        let _ = self.0.read_to_end(&mut rest).await;
        rest
    }
}

/// A request's payload, and where its answer goes.
type Seen = (Bytes, oneshot::Sender<Answer>);

/// Requests that the test answers by hand: those of API 0 later, others while they are begun.
fn by_hand() -> (
    mpsc::UnboundedReceiver<Seen>,
    impl Fn(Bytes) -> BoxFuture<'static, Begun> + Send + Sync + 'static,
) {
    let (begun, seen) = mpsc::unbounded_channel();
    let handler = move |frame: Bytes| -> BoxFuture<'static, Begun> {
        let (answer, answered) = oneshot::channel();
        let overlaps = frames::api_key(&frame) == Some(PRODUCE);
        begun.send((frame.slice(2..), answer)).unwrap();
        if overlaps {
            let later = async { answered.await.unwrap_or(Answer::Close) };
            Box::pin(ready(Begun::Later(Box::pin(later))))
        } else {
            Box::pin(async { Begun::Answered(answered.await.unwrap_or(Answer::Close)) })
        }
    };
    (seen, handler)
}

#[tokio::test]
async fn answers_leave_in_request_order() {
    let (mut seen, handler) = by_hand();
    let server = start(SETTINGS, handler);
    let mut client = Client::to(&server).await;
    client.send(PRODUCE, b"a").await;
    client.send(PRODUCE, b"b").await;
    let (_, a) = seen.recv().await.unwrap();
    let (_, b) = seen.recv().await.unwrap();
    b.send(reply(b"b")).ok().unwrap();
    a.send(reply(b"a")).ok().unwrap();
    assert_eq!(client.answer().await, b"a");
    assert_eq!(client.answer().await, b"b");
}

#[tokio::test]
async fn only_consecutive_produce_requests_overlap() {
    let (mut seen, handler) = by_hand();
    let server = start(SETTINGS, handler);
    let mut client = Client::to(&server).await;
    for (api_key, name) in [(PRODUCE, b"a"), (PRODUCE, b"b"), (METADATA, b"c"), (PRODUCE, b"d")] {
        client.send(api_key, name).await;
    }
    let (_, a) = seen.recv().await.unwrap();
    let (_, b) = seen.recv().await.unwrap();
    b.send(reply(b"b")).ok().unwrap();
    // Another connection gets all the way through meanwhile, and c has not begun.
    let mut other = Client::to(&server).await;
    other.send(METADATA, b"x").await;
    let (name, x) = seen.recv().await.unwrap();
    assert_eq!(name, &b"x"[..]);
    x.send(reply(b"x")).ok().unwrap();
    assert_eq!(other.answer().await, b"x");
    assert!(seen.try_recv().is_err());

    a.send(reply(b"a")).ok().unwrap();
    let (name, c) = seen.recv().await.unwrap();
    assert_eq!(name, &b"c"[..]);
    assert!(seen.try_recv().is_err());
    c.send(reply(b"c")).ok().unwrap();
    let (name, d) = seen.recv().await.unwrap();
    assert_eq!(name, &b"d"[..]);
    d.send(reply(b"d")).ok().unwrap();
    for name in [b"a", b"b", b"c", b"d"] {
        assert_eq!(client.answer().await, name);
    }
}

#[tokio::test]
async fn a_waiting_request_is_dropped_when_the_connection_is_reset() {
    let (mut seen, handler) = by_hand();
    let server = start(SETTINGS, handler);
    let mut client = Client::to(&server).await;
    client.send(METADATA, b"long poll").await;
    client.send(METADATA, b"pipelined").await;
    let (_, mut answer) = seen.recv().await.unwrap();
    client.0.set_zero_linger().unwrap();
    drop(client);
    answer.closed().await;
}

#[tokio::test]
async fn a_waiting_request_is_answered_when_the_peer_has_sent_its_last() {
    let (mut seen, handler) = by_hand();
    let server = start(SETTINGS, handler);
    let mut client = Client::to(&server).await;
    client.send(METADATA, b"long poll").await;
    client.send(METADATA, b"pipelined").await;
    client.0.shutdown().await.unwrap();
    for payload in [b"a", b"b"] {
        let (_, answer) = seen.recv().await.unwrap();
        // Once a request waits and another connection has been served, this one's close has been seen.
        let mut other = Client::to(&server).await;
        other.send(METADATA, b"x").await;
        seen.recv().await.unwrap().1.send(reply(b"x")).ok().unwrap();
        other.answer().await;
        answer.send(reply(payload)).ok().unwrap();
        assert_eq!(client.answer().await, payload);
    }
    assert_eq!(client.rest().await, b"");
}

#[tokio::test(start_paused = true)]
async fn a_waiting_request_is_dropped_some_time_after_the_peer_has_closed() {
    let (mut seen, handler) = by_hand();
    let server = start(SETTINGS, handler);
    let mut client = Client::to(&server).await;
    client.send(METADATA, b"long poll").await;
    let (_, mut answer) = seen.recv().await.unwrap();
    #[expect(clippy::disallowed_methods, reason = "this clock is the test's")]
    let before = tokio::time::Instant::now();
    drop(client);
    answer.closed().await;
    let waited = before.elapsed().as_millis() as u64;
    assert!((limits::HALF_CLOSED_MS_MAX..limits::HALF_CLOSED_MS_MAX + 100).contains(&waited));
}

#[tokio::test]
async fn a_produce_request_is_begun_even_when_the_peer_closes() {
    let (go, gone) = oneshot::channel::<()>();
    let (done, finished) = oneshot::channel();
    let (ready_to_close, closing) = oneshot::channel();
    let once = Arc::new(Mutex::new(Some((gone, done, ready_to_close))));
    let server = start(SETTINGS, move |_| {
        let once = once.clone();
        Box::pin(async move {
            let (gone, done, ready_to_close) = once.lock().await.take().unwrap();
            ready_to_close.send(()).unwrap();
            gone.await.unwrap();
            done.send(()).unwrap();
            Begun::Answered(Answer::Silent)
        })
    });
    let mut client = Client::to(&server).await;
    client.send(PRODUCE, b"acks=0").await;
    closing.await.unwrap();
    drop(client);
    go.send(()).unwrap();
    finished.await.unwrap();
}

#[tokio::test]
async fn what_arrived_before_a_half_close_is_answered() {
    let server = start(SETTINGS, echo);
    let mut client = Client::to(&server).await;
    client.send(PRODUCE, b"a").await;
    client.send(METADATA, b"b").await;
    client.0.shutdown().await.unwrap();
    assert_eq!(client.rest().await, [&[0, 0, 0, 1, b'a'][..], &[0, 0, 0, 1, b'b']].concat());
}

#[tokio::test]
async fn silence_writes_nothing_and_close_sends_what_came_before() {
    let server = start(SETTINGS, |frame| {
        Box::pin(ready(match &frame[2..] {
            b"silent" => Begun::Later(Box::pin(ready(Answer::Silent))),
            b"close" => Begun::Later(Box::pin(ready(Answer::Close))),
            other => Begun::Later(Box::pin(ready(reply(other)))),
        }))
    });
    let mut client = Client::to(&server).await;
    for name in [&b"silent"[..], b"a", b"close", b"b"] {
        client.send(PRODUCE, name).await;
    }
    assert_eq!(client.rest().await, [0, 0, 0, 1, b'a']);
}

#[tokio::test]
async fn frames_that_cannot_be_are_refused() {
    let settings = Settings { request_bytes_max: 20 << 20, ..SETTINGS };
    let server = start(settings, echo);
    let mut bystander = Client::to(&server).await;
    let too_large_for_metadata =
        [(9_i32 << 20).to_be_bytes().to_vec(), METADATA.to_be_bytes().to_vec()].concat();
    for bytes in [
        (-1_i32).to_be_bytes().to_vec(),
        i32::MIN.to_be_bytes().to_vec(),
        ((20_i32 << 20) + 1).to_be_bytes().to_vec(),
        i32::MAX.to_be_bytes().to_vec(),
        too_large_for_metadata,
    ] {
        let mut client = Client::to(&server).await;
        client.send(METADATA, b"a").await;
        client.0.write_all(&bytes).await.unwrap();
        assert_eq!(client.rest().await, [0, 0, 0, 1, b'a'], "{bytes:?}");
    }
    bystander.send(METADATA, b"still here").await;
    assert_eq!(bystander.answer().await, b"still here");
}

#[tokio::test]
async fn empty_and_short_frames_reach_the_handlers() {
    let server =
        start(SETTINGS, |frame| Box::pin(ready(Begun::Answered(reply(&[frame.len() as u8])))));
    let mut client = Client::to(&server).await;
    client.0.write_all(&[0, 0, 0, 0, 0, 0, 0, 1, 7]).await.unwrap();
    assert_eq!(client.answer().await, [0]);
    assert_eq!(client.answer().await, [1]);
}

#[tokio::test]
async fn many_small_requests_in_one_segment_and_one_byte_at_a_time() {
    let server = start(SETTINGS, echo);
    let mut client = Client::to(&server).await;
    let all: Vec<u8> = (0..1000_u32).flat_map(|n| frame(METADATA, &n.to_be_bytes())).collect();
    client.0.write_all(&all).await.unwrap();
    for n in 0..1000_u32 {
        assert_eq!(client.answer().await, n.to_be_bytes());
    }
    for byte in frame(METADATA, b"slowly") {
        client.0.write_all(&[byte]).await.unwrap();
        client.0.set_nodelay(true).unwrap();
    }
    assert_eq!(client.answer().await, b"slowly");
}

#[tokio::test]
async fn large_frames_arrive_whole() {
    let server = start(SETTINGS, echo);
    let mut client = Client::to(&server).await;
    for len in [16 << 10, (16 << 10) - 1, 65_000, 1 << 20, (1 << 20) + 1, 5 << 20] {
        let payload: Vec<u8> = (0..len).map(|n: usize| (n % 251) as u8).collect();
        let (mut reader, mut writer) = client.0.split();
        let request = [frame(PRODUCE, &payload), frame(PRODUCE, b"after")].concat();
        let sent = async { writer.write_all(&request).await.unwrap() };
        let received = async {
            let mut answers = vec![0; 4 + payload.len() + 4 + 5];
            reader.read_exact(&mut answers).await.unwrap();
            answers
        };
        let ((), answers) = tokio::join!(sent, received);
        assert!(answers[4..4 + payload.len()] == payload, "{len}");
        assert_eq!(&answers[answers.len() - 5..], b"after");
    }
}

#[tokio::test]
async fn an_announcement_costs_a_mebibyte_and_gives_it_back() {
    let buffers = buffers::Buffers::new(100 << 20);
    let all = buffers.available();
    let mut frames = frames::Frames::new(100 << 20, buffers.clone());
    let (mut client, mut server) = tokio::io::duplex(8 << 20);
    client.write_all(&frame(PRODUCE, &[7; 3 << 20])[..100_000]).await.unwrap();
    {
        let mut next = Box::pin(frames.next(&mut server));
        assert!(futures_util::poll!(&mut next).is_pending());
        assert_eq!(all - buffers.available(), 1 << 20);
        client.write_all(&frame(PRODUCE, &[7; 3 << 20])[100_000..]).await.unwrap();
        let whole = next.await.unwrap().unwrap();
        assert_eq!(whole.len(), (3 << 20) + 2);
        assert_eq!(all - buffers.available(), (4 << 20) + (32 << 10));
    }
    assert_eq!(buffers.available(), all);
}

#[tokio::test]
async fn an_announcement_alone_costs_nothing() {
    let buffers = buffers::Buffers::new(100 << 20);
    let all = buffers.available();
    let mut frames = frames::Frames::new(100 << 20, buffers.clone());
    let (mut client, mut server) = tokio::io::duplex(8 << 20);
    client.write_all(&frame(PRODUCE, &[7; 3 << 20])[..10_000]).await.unwrap();
    assert!(futures_util::poll!(Box::pin(frames.next(&mut server))).is_pending());
    assert_eq!(buffers.available(), all);
}

/// (does another frame wait, bytes that arrive each second, seconds until it is given up; something arrives in the first)
#[tokio::test(start_paused = true)]
async fn a_frame_that_arrives_slowly_is_given_up_when_others_wait() {
    let table = [
        (false, 0, Some(31)),
        (false, 100, None),
        (true, 0, Some(1)),
        (true, 10_000, Some(1)),
        (true, 20_000, None),
    ];
    for (others_wait, each_second, given_up) in table {
        let buffers = buffers::Buffers::new(100 << 20);
        let mut held = Vec::new();
        for _ in 1..limits::FRAMES_BYTES_MAX >> 20 {
            held.push(buffers.take(1 << 20, true).await);
        }
        let (mut client, mut server) = tokio::io::duplex(8 << 20);
        client.write_all(&frame(PRODUCE, &[7; 1 << 20])[..20_000]).await.unwrap();
        let mut frames = frames::Frames::new(100 << 20, buffers.clone());
        #[expect(clippy::disallowed_methods, reason = "this clock is the test's")]
        let start = tokio::time::Instant::now();
        let arriving = async {
            let next =
                tokio::time::timeout(Duration::from_secs(45), frames.next(&mut server)).await;
            next.ok().map(|next| (next.is_err(), start.elapsed().as_secs()))
        };
        let trickle = async {
            loop {
                tokio::time::sleep(Duration::from_millis(999)).await;
                let _ = client.write_all(&[7; 20_000][..each_second]).await;
            }
        };
        let waiting = async {
            if others_wait {
                // Later than the frame that is here already.
                tokio::time::sleep(Duration::from_millis(1)).await;
                drop(buffers.take(1 << 20, true).await);
            }
            std::future::pending::<()>().await
        };
        let ended = tokio::select! {
            ended = arriving => ended,
            () = trickle => unreachable!("it goes on"),
            () = waiting => unreachable!("it stays"),
        };
        assert_eq!(ended, given_up.map(|seconds| (true, seconds)), "{others_wait} {each_second}");
    }
}

#[tokio::test]
async fn requests_that_wait_with_their_frames_leave_memory_for_produce() {
    let buffers = buffers::Buffers::new(100 << 20);
    let mut waiting = Vec::new();
    for _ in 0..limits::OTHER_FRAMES_BYTES_MAX >> 20 {
        waiting.push(buffers.take(1 << 20, false).await);
    }
    assert!(futures_util::poll!(Box::pin(buffers.take(20_000, false))).is_pending());
    assert!(futures_util::poll!(Box::pin(buffers.take(90 << 20, true))).is_ready());
    drop(waiting);
    assert!(futures_util::poll!(Box::pin(buffers.take(20_000, false))).is_ready());
}

#[tokio::test]
async fn a_client_that_does_not_read_begins_few_requests_and_stops_nobody() {
    let begun = Arc::new(AtomicUsize::new(0));
    let answer = Bytes::from(vec![0; 1 << 20]);
    let count = begun.clone();
    let server = start(SETTINGS, move |frame| {
        if &frame[2..] == b"greedy" {
            count.fetch_add(1, Ordering::Relaxed);
            let slices = vec![Slice::Bytes(answer.clone())];
            return Box::pin(ready(Begun::Answered(Answer::Reply(slices))));
        }
        echo(frame)
    });
    let mut greedy = Client::to(&server).await;
    for _ in 0..1000 {
        greedy.send(METADATA, b"greedy").await;
    }
    let mut other = Client::to(&server).await;
    for _ in 0..1000 {
        other.send(METADATA, b"x").await;
        assert_eq!(other.answer().await, b"x");
    }
    // The rest is in the buffers of the two sockets.
    assert!(begun.load(Ordering::Relaxed) < 30, "{begun:?}");
}

#[tokio::test]
async fn file_ranges_are_sent_in_their_place() {
    let mut file = tempfile::tempfile().unwrap();
    let content: Vec<u8> = (0..3_000_000).map(|n: usize| (n % 253) as u8).collect();
    file.write_all(&content).unwrap();
    let file = Arc::new(file);
    let server = start(SETTINGS, move |_| {
        let range = |at: u64, len| Slice::File(FileRange { file: file.clone(), at, len });
        let bytes = |bytes: &'static [u8]| Slice::Bytes(Bytes::from_static(bytes));
        let slices = vec![bytes(b"<"), range(10, 2_000_000), bytes(b"|"), range(5, 1), bytes(b">")];
        Box::pin(ready(Begun::Answered(Answer::Reply(slices))))
    });
    let mut client = Client::to(&server).await;
    client.send(METADATA, b"").await;
    client.send(METADATA, b"").await;
    for _ in 0..2 {
        let mut answer = vec![0; 2_000_004];
        client.0.read_exact(&mut answer).await.unwrap();
        let expected = [b"<", &content[10..2_000_010], b"|", &content[5..6], b">"].concat();
        assert!(answer == expected);
    }
}

#[tokio::test]
async fn a_file_that_is_too_short_closes_the_connection() {
    let file = Arc::new(tempfile::tempfile().unwrap());
    let server = start(SETTINGS, move |_| {
        let range = Slice::File(FileRange { file: file.clone(), at: 0, len: 1 });
        Box::pin(ready(Begun::Answered(Answer::Reply(vec![range]))))
    });
    let mut client = Client::to(&server).await;
    client.send(METADATA, b"").await;
    assert_eq!(client.rest().await, b"");
}

#[tokio::test]
async fn a_panic_closes_its_connection_alone() {
    let server = start(SETTINGS, |frame| {
        assert_ne!(&frame[2..], b"panic", "as asked");
        echo(frame)
    });
    let mut bystander = Client::to(&server).await;
    let mut client = Client::to(&server).await;
    client.send(METADATA, b"panic").await;
    assert_eq!(client.rest().await, b"");
    bystander.send(METADATA, b"x").await;
    assert_eq!(bystander.answer().await, b"x");
}

#[tokio::test(start_paused = true)]
async fn silent_connections_are_closed() {
    let settings = Settings { idle: Some(Duration::from_secs(600)), ..SETTINGS };
    let server = start(settings, echo);
    let mut client = Client::to(&server).await;
    assert_eq!(client.rest().await, b"");
}

#[tokio::test]
async fn idle_connections_are_small() {
    let server = start(SETTINGS, echo);
    let mut clients = Vec::new();
    for _ in 0..200 {
        clients.push(Client::to(&server).await);
    }
    for client in &mut clients {
        client.send(METADATA, b"x").await;
        assert_eq!(client.answer().await, b"x");
    }
    let (_, stopping) = watch::channel(false);
    let session = Session::new(server.addr, 0);
    let buffers = buffers::Buffers::new(SETTINGS.request_bytes_max);
    let socket = TcpStream::connect(server.addr).await.unwrap();
    let stand = Stand(Arc::new(echo));
    let task = connection::run(socket, session, stand, SETTINGS, buffers, stopping);
    assert!(size_of_val(&task) < 3_000, "{}", size_of_val(&task));
}

#[tokio::test]
async fn a_stop_answers_what_is_in_progress() {
    let (mut seen, handler) = by_hand();
    let server = start(SETTINGS, handler);
    let mut idle = Client::to(&server).await;
    idle.send(METADATA, b"x").await;
    seen.recv().await.unwrap().1.send(reply(b"x")).ok().unwrap();
    assert_eq!(idle.answer().await, b"x");
    let mut client = Client::to(&server).await;
    client.send(METADATA, b"a").await;
    let (_, a) = seen.recv().await.unwrap();
    server.stop.send(true).unwrap();
    assert_eq!(idle.rest().await, b"");
    assert!(TcpStream::connect(server.addr).await.is_err());
    a.send(reply(b"a")).ok().unwrap();
    assert_eq!(client.rest().await, [0, 0, 0, 1, b'a']);
    server.task.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_stop_does_not_wait_for_long_polls() {
    let (begun, mut seen) = mpsc::unbounded_channel();
    let server = start(SETTINGS, move |_| {
        begun.send(()).unwrap();
        Box::pin(pending())
    });
    let mut client = Client::to(&server).await;
    client.send(METADATA, b"").await;
    seen.recv().await.unwrap();
    server.stop.send(true).unwrap();
    server.task.await.unwrap();
    assert_eq!(client.rest().await, b"");
}

#[tokio::test]
async fn connections_above_the_limit_wait() {
    let settings = Settings { connections_max: 1, ..SETTINGS };
    let server = start(settings, echo);
    let mut first = Client::to(&server).await;
    first.send(METADATA, b"1").await;
    assert_eq!(first.answer().await, b"1");
    let mut second = Client::to(&server).await;
    second.send(METADATA, b"2").await;
    first.send(METADATA, b"3").await;
    assert_eq!(first.answer().await, b"3");
    assert_eq!(second.0.try_read(&mut [0]).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    drop(first);
    assert_eq!(second.answer().await, b"2");
}

#[tokio::test]
async fn the_limit_of_connections_changes_while_it_is_reached() {
    let (limit, mut changes) = mpsc::unbounded_channel();
    let limits = stream::poll_fn(move |task| changes.poll_recv(task));
    let server = start_with(Settings { connections_max: 1, ..SETTINGS }, limits, echo);
    let mut first = Client::to(&server).await;
    first.send(METADATA, b"1").await;
    assert_eq!(first.answer().await, b"1");
    let mut second = Client::to(&server).await;
    second.send(METADATA, b"2").await;
    limit.send(2).unwrap();
    assert_eq!(second.answer().await, b"2");
    limit.send(1).unwrap();
    drop(limit);
    first.send(METADATA, b"3").await;
    assert_eq!(first.answer().await, b"3", "who is there stays");
}

#[tokio::test]
async fn a_port_in_use_is_named() {
    let server = start(SETTINGS, echo);
    let error = bind(&local(server.addr.port())).unwrap_err().to_string();
    let port = server.addr.port();
    assert_eq!(error, format!("PLAINTEXT: 127.0.0.1:{port} is already in use"));
    let far = Listener { host: Some("192.0.2.1".to_owned()), ..local(9) };
    let error = bind(&far).unwrap_err().to_string();
    assert_eq!(error, "PLAINTEXT: 192.0.2.1 is not an address of this machine");
}

#[tokio::test]
async fn all_interfaces_means_both_families() {
    let bound = bind(&Listener { host: None, ..local(0) }).unwrap();
    let addr = bound.addr();
    let (_stop, shutdown) = watch::channel(false);
    let (stand, limits) = (Stand(Arc::new(echo)), stream::pending());
    listener::serve_with(bound, 0, stand, SETTINGS, limits, shutdown).unwrap();
    TcpStream::connect(("127.0.0.1", addr.port())).await.unwrap();
    if addr.is_ipv6() {
        TcpStream::connect(("::1", addr.port())).await.unwrap();
    }
}
