//! A TCP proxy between clients and broker that cuts and stalls connections on demand.
//!
//! Bytes are passed as they come; it knows no protocol. The broker advertises the proxy's address, so that every
//! connection passes here, and keeps it over its own restarts.

use crate::plan::{Cut, Way, Whose};
use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    select,
    sync::watch,
};

/// What is passed at once.
const PIECE_BYTES: usize = 16 << 10;

pub struct Proxy {
    address: std::net::SocketAddr,
    orders: Arc<watch::Sender<Orders>>,
    counts: Arc<Counts>,
}

/// What has happened so far.
#[derive(Debug, Default)]
pub struct Counts {
    pub accepted: AtomicU64,
    pub cut: AtomicU64,
}

/// What connections are to do.
#[derive(Debug, Clone, Copy)]
struct Orders {
    /// Grows with every cut; a connection obeys those that come after it.
    cuts: u64,
    how: Cut,
    whose: Whose,
    stalled_to_broker: bool,
    stalled_to_client: bool,
}

impl Proxy {
    /// Listens on `listen`, and passes what comes to `broker`; both `HOST:PORT`. Stops with the runtime.
    pub async fn start(listen: &str, broker: String) -> io::Result<Proxy> {
        let listener = TcpListener::bind(listen).await?;
        let address = listener.local_addr()?;
        let idle = Orders {
            cuts: 0,
            how: Cut::Reset,
            whose: Whose::All,
            stalled_to_broker: false,
            stalled_to_client: false,
        };
        let orders = Arc::new(watch::Sender::new(idle));
        let counts = Arc::new(Counts::default());
        tokio::spawn(accept(listener, broker, orders.clone(), counts.clone()));
        Ok(Proxy { address, orders, counts })
    }

    pub fn address(&self) -> String {
        self.address.to_string()
    }

    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    pub fn cut(&self, how: Cut, whose: Whose) {
        self.orders.send_modify(|orders| {
            orders.cuts += 1;
            orders.how = how;
            orders.whose = whose;
        });
    }

    /// Until `flow`.
    pub fn stall(&self, way: Way) {
        self.orders.send_modify(|orders| {
            orders.stalled_to_broker = matches!(way, Way::ToBroker | Way::Both);
            orders.stalled_to_client = matches!(way, Way::ToClient | Way::Both);
        });
    }

    pub fn flow(&self) {
        self.orders.send_modify(|orders| {
            orders.stalled_to_broker = false;
            orders.stalled_to_client = false;
        });
    }
}

async fn accept(
    listener: TcpListener,
    broker: String,
    orders: Arc<watch::Sender<Orders>>,
    counts: Arc<Counts>,
) {
    for number in 0_u64.. {
        let Ok((client, _)) = listener.accept().await else { return };
        counts.accepted.fetch_add(1, Ordering::Relaxed);
        let (broker, orders, counts) = (broker.clone(), orders.subscribe(), counts.clone());
        tokio::spawn(async move {
            if connection(client, &broker, orders, number % 2 == 1).await == End::Cut {
                counts.cut.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
}

/// Why a connection is over.
#[derive(Debug, PartialEq, Eq)]
enum End {
    /// By one of its ends, or it never came to be.
    Itself,
    Cut,
}

async fn connection(
    client: TcpStream,
    broker: &str,
    orders: watch::Receiver<Orders>,
    odd: bool,
) -> End {
    // A broker that is down refuses connections; through the proxy they end at once.
    let Ok(broker) = TcpStream::connect(broker).await else { return End::Itself };
    let _ = client.set_nodelay(true);
    let _ = broker.set_nodelay(true);
    let cut = ordered(orders.clone(), odd);
    let torn = watch::Sender::new(false);
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_broker, mut to_broker) = broker.into_split();
    let how = {
        let there = pump(
            &mut from_client,
            &mut to_broker,
            orders.clone(),
            |orders| orders.stalled_to_broker,
            torn.subscribe(),
        );
        let back = pump(
            &mut from_broker,
            &mut to_client,
            orders.clone(),
            |orders| orders.stalled_to_client,
            torn.subscribe(),
        );
        let both = async { tokio::try_join!(there, back).err() };
        tokio::pin!(both);
        select! {
            _ = &mut both => return End::Itself,
            how = cut => match how {
                // The pumps go on until the next bytes come.
                Cut::Torn => {
                    torn.send_replace(true);
                    both.await;
                    how
                }
                how => how,
            },
        }
    };
    if how != Cut::Finish {
        reset(from_client, to_client);
        reset(from_broker, to_broker);
    }
    End::Cut
}

/// Waits for a cut that concerns this connection.
async fn ordered(mut orders: watch::Receiver<Orders>, odd: bool) -> Cut {
    let seen = orders.borrow().cuts;
    let mine = |orders: &Orders| {
        orders.cuts > seen
            && match orders.whose {
                Whose::All => true,
                Whose::Odd => odd,
                Whose::Even => !odd,
            }
    };
    if let Ok(orders) = orders.wait_for(mine).await {
        return orders.how;
    }
    std::future::pending().await
}

/// Closes so that the other side sees a reset.
fn reset(read: OwnedReadHalf, write: OwnedWriteHalf) {
    if let Ok(stream) = read.reunite(write) {
        let _ = stream.set_zero_linger();
    }
}

/// Passes bytes until the sender has finished. An error ends both directions.
async fn pump(
    from: &mut OwnedReadHalf,
    to: &mut OwnedWriteHalf,
    mut orders: watch::Receiver<Orders>,
    stalled: impl Fn(&Orders) -> bool,
    torn: watch::Receiver<bool>,
) -> io::Result<()> {
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        let size = from.read(&mut piece).await?;
        // What was read when a stall began is passed after it.
        let _ = orders.wait_for(|orders| !stalled(orders)).await;
        if size == 0 {
            return to.shutdown().await;
        }
        if *torn.borrow() {
            to.write_all(&piece[..size / 2]).await?;
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        to.write_all(&piece[..size]).await?;
    }
}

#[cfg(test)]
mod tests;
