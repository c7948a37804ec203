//! Bytes of segment files into a socket. What the page cache has goes there without a copy in this process and without
//! waiting; what it does not have is read by a thread that may wait for the disk, and then it has it.

use super::outbox::WriteError;
use crate::handlers::FileRange;
use rustix::io::Errno;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use tokio::{
    net::TcpStream,
    task::{JoinHandle, spawn_blocking},
};

/// Bytes read at a time only to have them in the page cache.
const LOAD_BYTES: usize = 64 << 10;

/// Whether sending the range will not wait for the disk, as far as its ends tell: pages in between may have gone, but the
/// kernel reads ahead, and lets go of neighbours together.
#[cfg(target_os = "linux")]
pub(super) fn is_cached(range: &FileRange) -> bool {
    use rustix::io::{ReadWriteFlags, preadv2};
    let end = range.at + range.len as u64;
    [range.at, end - 1].into_iter().all(|at| {
        let mut byte = [0];
        let byte = &mut [io::IoSliceMut::new(&mut byte)];
        // A file system that cannot say is asked for the bytes at once.
        preadv2(&*range.file, byte, at, ReadWriteFlags::NOWAIT) != Err(Errno::AGAIN)
    })
}

#[cfg(not(target_os = "linux"))]
pub(super) fn is_cached(_: &FileRange) -> bool {
    false
}

/// Reads the range, for the page cache alone. An error when the file is shorter.
pub(super) fn load(range: FileRange) -> JoinHandle<io::Result<()>> {
    spawn_blocking(move || {
        let mut bytes = vec![0; LOAD_BYTES.min(range.len)];
        let (mut at, mut left) = (range.at, range.len);
        while left > 0 {
            let len = bytes.len().min(left);
            range.file.read_exact_at(&mut bytes[..len], at)?;
            at += len as u64;
            left -= len;
        }
        Ok(())
    })
}

/// What the socket takes of the range without waiting; 0 when it takes nothing now. An error when the file is shorter, too.
pub(super) fn send(socket: &TcpStream, range: &FileRange) -> Result<usize, WriteError> {
    match send_some(socket, range) {
        Ok(0) => Err(failed(range, ErrorKind::UnexpectedEof.into())),
        Ok(sent) => Ok(sent),
        Err(error) => match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::Interrupted => Ok(0),
            ErrorKind::UnexpectedEof => Err(failed(range, error)),
            _ if error.raw_os_error() == Some(Errno::IO.raw_os_error()) => {
                Err(failed(range, error))
            }
            _ => Err(WriteError::Socket(error)),
        },
    }
}

/// That the file, and not the socket, is at fault.
pub(super) fn failed(range: &FileRange, error: io::Error) -> WriteError {
    WriteError::File { at: range.at, len: range.len, error }
}

#[cfg(target_os = "linux")]
fn send_some(socket: &TcpStream, range: &FileRange) -> io::Result<usize> {
    let mut at = range.at;
    socket.try_io(tokio::io::Interest::WRITABLE, || {
        Ok(rustix::fs::sendfile(socket, &*range.file, Some(&mut at), range.len)?)
    })
}

#[cfg(not(target_os = "linux"))]
fn send_some(socket: &TcpStream, range: &FileRange) -> io::Result<usize> {
    let mut bytes = vec![0; range.len];
    range.file.read_exact_at(&mut bytes, range.at)?;
    socket.try_write(&bytes)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use rustix::fs::{Advice, fadvise};
    use std::{io::Write, sync::Arc};

    #[tokio::test]
    async fn what_is_not_in_the_page_cache_is_there_once_it_is_loaded() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[7; 1 << 20]).unwrap();
        file.sync_all().unwrap();
        let range = FileRange { file: Arc::new(file), at: 4096, len: 900_000 };
        assert!(is_cached(&range), "it was just written");
        fadvise(&*range.file, 0, None, Advice::DontNeed).unwrap();
        if is_cached(&range) {
            // Not by println, which is kept back for a test that passes.
            let _ = writeln!(io::stderr(), "not tried: this file system keeps all in memory");
        }
        load(range.clone()).await.unwrap().unwrap();
        assert!(is_cached(&range));
        let longer = FileRange { len: 2 << 20, ..range };
        let short = load(longer).await.unwrap().unwrap_err();
        assert_eq!(short.kind(), ErrorKind::UnexpectedEof);
    }

    /// Only a file's failure is worth a line in the log.
    #[tokio::test]
    async fn whose_fault_it_is_is_known() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[7; 1000]).unwrap();
        let range = FileRange { file: Arc::new(file), at: 0, len: 1000 };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let socket = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        socket.writable().await.unwrap();
        assert_eq!(send(&socket, &range).unwrap(), 1000);
        let past = FileRange { at: 1000, ..range.clone() };
        assert!(matches!(send(&socket, &past), Err(WriteError::File { .. })));
        socket2::SockRef::from(&socket).shutdown(std::net::Shutdown::Write).unwrap();
        assert!(matches!(send(&socket, &range), Err(WriteError::Socket(_))));
    }
}
