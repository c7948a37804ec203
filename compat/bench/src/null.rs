//! The null broker: reads frames, checks the checksums of batches, answers, stores nothing. One thread, one task a
//! connection. It is the limit that brokers are measured against, so Produce is decoded by hand and all requests of a
//! read are answered in one write. It knows Produce, ApiVersions, Metadata, CreateTopics and DeleteTopics, which is all
//! that a benchmark of producers asks for; anything else ends the connection.

mod admin;
mod produce;

use crate::frames::Frames;
use admin::Admin;
use anyhow::Result;
use std::{cell::RefCell, net::SocketAddr, rc::Rc};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::{LocalSet, spawn_local},
};

/// Small requests come many in one read; a larger one makes the buffer grow, once.
const BUFFER_BYTES: usize = 16 << 10;

/// Serves until the process is killed. Tells on standard output when it does.
pub fn serve(listener: std::net::TcpListener) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    LocalSet::new().block_on(&runtime, async {
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let address = listener.local_addr()?;
        println!("null ready {address}");
        accept(listener, address).await
    })
}

async fn accept(listener: TcpListener, address: SocketAddr) -> Result<()> {
    let admin = Rc::new(RefCell::new(Admin::new(address)));
    loop {
        let (stream, _) = listener.accept().await?;
        let admin = admin.clone();
        spawn_local(async move {
            if let Err(error) = connection(stream, &admin).await {
                eprintln!("ottla-bench null: {error:#}");
            }
        });
    }
}

async fn connection(mut stream: TcpStream, admin: &RefCell<Admin>) -> Result<()> {
    stream.set_nodelay(true)?;
    let mut frames = Frames::new(BUFFER_BYTES);
    let mut answers = Vec::with_capacity(BUFFER_BYTES);
    loop {
        let size = stream.read(frames.space()?).await?;
        if size == 0 {
            return Ok(());
        }
        frames.filled(size);
        while let Some(frame) = frames.next()? {
            let request = frames.bytes(frame);
            match request {
                [0, 0, ..] => produce::answer(request, &mut answers)?,
                _ => admin.borrow_mut().answer(request, &mut answers)?,
            }
        }
        if !answers.is_empty() {
            stream.write_all(&answers).await?;
            answers.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        client::Connection,
        closed,
        produce::{Records, Requests},
        topics,
    };

    #[test]
    fn the_client_and_the_null_broker_understand_each_other() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        std::thread::spawn(move || serve(listener));
        let mut connection = Connection::open(&address).unwrap();
        topics::create(&mut connection, "t", 3, &[]).unwrap();
        let records = Records { records: 100, record_bytes: 1000 };
        let mut requests = Requests::new("t", 3, -1, &records).unwrap();
        requests.send_each(&mut connection).unwrap();
        let others = (0..2).map(|_| Connection::open(&address).unwrap()).collect();
        assert_eq!(closed::drive(others, requests.clone(), 5, 101).unwrap().len(), 101);
        let last = requests.frames[0].len() - 1;
        requests.frames[0][last] ^= 1;
        connection.sender.send(&mut requests.frames[0]).unwrap();
        let error = crate::produce::check(connection.receiver.receive().unwrap()).unwrap_err();
        assert_eq!(error.to_string(), "Produce: error 2", "a wrong checksum");
        topics::delete(&mut connection, "t");
        let metadata = topics::metadata(&mut connection, Some("t")).unwrap();
        assert_eq!(metadata.topics[0].error_code, 3);
    }
}
