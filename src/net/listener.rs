//! A listening socket and the connections it accepted.

use super::{Dispatch, Settings, buffers::Buffers, connection, connection::End};
use crate::{config::Listener, handlers::Ctx, limits, session::Session};
use futures_util::{Stream, StreamExt, stream};
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use std::{
    io,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs},
    pin::pin,
    sync::Arc,
    time::Duration,
};
use tokio::{
    net::{TcpListener, TcpStream},
    select,
    sync::watch,
    task::{JoinError, JoinHandle, JoinSet},
    time::{sleep, timeout},
};
use tracing::{debug, error, warn};

/// Why a listener cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    #[error("{name}: {host}:{port} is already in use")]
    InUse { name: String, host: String, port: u16 },
    #[error("{name}: {host} is not an address of this machine")]
    NoSuchAddress { name: String, host: String },
    #[error("{name}: cannot listen on {host}:{port}: {error}")]
    Other { name: String, host: String, port: u16, error: io::Error },
}

/// A socket that has its address; clients are refused until `serve`.
#[derive(Debug)]
pub struct BoundListener {
    socket: Socket,
    listener: Listener,
    addr: SocketAddr,
}

impl BoundListener {
    /// With the real port where 0 was asked for.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }
}

/// Takes the address of `listener`. All interfaces means IPv6 and IPv4 by one socket, or IPv4 where there is no IPv6.
pub fn bind(listener: &Listener) -> Result<BoundListener, BindError> {
    let bound = match &listener.host {
        None => {
            bind_to(SocketAddr::from((Ipv6Addr::UNSPECIFIED, listener.port))).or_else(|error| {
                match error.kind() {
                    io::ErrorKind::AddrInUse | io::ErrorKind::PermissionDenied => Err(error),
                    _ => bind_to(SocketAddr::from((Ipv4Addr::UNSPECIFIED, listener.port))),
                }
            })
        }
        Some(host) => resolve(host, listener.port).and_then(bind_to),
    };
    let (socket, addr) = bound.map_err(|error| refusal(listener, error))?;
    Ok(BoundListener { socket, listener: listener.clone(), addr })
}

/// Accepts connections until `shutdown` becomes true. The task ends when all connections have: those with requests in
/// progress get `limits::SHUTDOWN_ANSWER_MS_MAX` to answer them. `index` is the listener's place in `Config::listeners`.
///
/// Fails when another process began to listen on the address since it was bound.
pub fn serve(
    bound: BoundListener,
    index: usize,
    ctx: Arc<Ctx>,
    shutdown: watch::Receiver<bool>,
) -> Result<JoinHandle<()>, BindError> {
    let mut config = ctx.in_effect.subscribe();
    let settings = Settings::of(&config.borrow_and_update());
    let limits = stream::unfold(config, |mut config| async move {
        config.changed().await.ok()?;
        let max = Settings::of(&config.borrow_and_update()).connections_max;
        Some((max, config))
    });
    serve_with(bound, index, ctx, settings, limits, shutdown)
}

/// `limits` says how many connections there may be from now on. Fewer close none: who is there stays.
pub(super) fn serve_with<D: Dispatch>(
    bound: BoundListener,
    index: usize,
    dispatch: D,
    settings: Settings,
    limits: impl Stream<Item = usize> + Send + 'static,
    shutdown: watch::Receiver<bool>,
) -> Result<JoinHandle<()>, BindError> {
    let BoundListener { socket, listener, .. } = bound;
    let listening = socket
        .listen(settings.backlog)
        .and_then(|()| TcpListener::from_std(socket.into()))
        .map_err(|error| refusal(&listener, error))?;
    Ok(tokio::spawn(accept(listening, index, dispatch, settings, limits, shutdown)))
}

async fn accept<D: Dispatch>(
    listening: TcpListener,
    index: usize,
    dispatch: D,
    settings: Settings,
    limits: impl Stream<Item = usize>,
    mut shutdown: watch::Receiver<bool>,
) {
    let mut connections_max = settings.connections_max;
    let mut limits = pin!(limits.fuse());
    let buffers = Buffers::new(settings.request_bytes_max);
    let stopping = shutdown.clone();
    let mut connections = JoinSet::new();
    loop {
        let accepted = select! {
            biased;
            _ = shutdown.wait_for(|stop| *stop) => break,
            Some(ended) = connections.join_next() => {
                note_end(ended);
                continue;
            }
            Some(max) = limits.next() => {
                connections_max = max;
                continue;
            }
            accepted = listening.accept(), if connections.len() < connections_max => accepted,
        };
        let (socket, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                back_off(error).await;
                continue;
            }
        };
        prepare(&socket);
        let (dispatch, buffers, stopping) = (dispatch.clone(), buffers.clone(), stopping.clone());
        connections.spawn(async move {
            let session = Session::new(peer, index);
            let end = connection::run(socket, session, dispatch, settings, buffers, stopping).await;
            (peer, end)
        });
    }
    drop(listening);
    let grace = Duration::from_millis(limits::SHUTDOWN_ANSWER_MS_MAX);
    let ended = async {
        while let Some(ended) = connections.join_next().await {
            note_end(ended);
        }
    };
    if timeout(grace, ended).await.is_err() {
        connections.shutdown().await;
    }
}

/// Waits when the process or the machine is out of what an accept needs; other errors concern one connection alone.
async fn back_off(error: io::Error) {
    let exhausted = [
        rustix::io::Errno::MFILE,
        rustix::io::Errno::NFILE,
        rustix::io::Errno::NOBUFS,
        rustix::io::Errno::NOMEM,
    ];
    if exhausted.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error())) {
        warn!(%error, "cannot accept connections now");
        sleep(Duration::from_millis(limits::ACCEPT_BACK_OFF_MS)).await;
    } else {
        debug!(%error, "a connection was lost before it was accepted");
    }
}

fn prepare(socket: &TcpStream) {
    let options = SockRef::from(socket);
    if let Err(error) = options.set_tcp_nodelay(true).and_then(|()| options.set_keepalive(true)) {
        debug!(%error, "a socket refused its options");
    }
}

fn note_end(ended: Result<(SocketAddr, End), JoinError>) {
    match ended {
        Ok((peer, End::Write(error @ super::outbox::WriteError::File { .. }))) => {
            error!(%peer, %error, "connection closed");
        }
        Ok((peer, end)) => debug!(%peer, reason = %end, "connection closed"),
        Err(lost) if lost.is_panic() => error!(error = %lost, "connection closed by a panic"),
        Err(_) => {}
    }
}

fn resolve(host: &str, port: u16) -> io::Result<SocketAddr> {
    let mut found = (host, port).to_socket_addrs()?;
    found.next().ok_or_else(|| io::Error::from(io::ErrorKind::AddrNotAvailable))
}

fn bind_to(addr: SocketAddr) -> io::Result<(Socket, SocketAddr)> {
    let socket = Socket::new(Domain::for_address(addr), Type::STREAM, Some(Protocol::TCP))?;
    if addr.is_ipv6() {
        socket.set_only_v6(!addr.ip().is_unspecified())?;
    }
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&addr.into())?;
    let bound = socket.local_addr()?.as_socket();
    bound.map(|bound| (socket, bound)).ok_or_else(|| io::ErrorKind::AddrNotAvailable.into())
}

fn refusal(listener: &Listener, error: io::Error) -> BindError {
    let (name, port) = (listener.name.clone(), listener.port);
    let host = listener.host.clone().unwrap_or_else(|| "*".to_owned());
    match error.kind() {
        io::ErrorKind::AddrInUse => BindError::InUse { name, host, port },
        io::ErrorKind::AddrNotAvailable => BindError::NoSuchAddress { name, host },
        _ => BindError::Other { name, host, port, error },
    }
}
