//! Bytes on their way out of one socket, in order. Bytes in memory leave by vectored writes, as many answers as are there;
//! file ranges piece by piece (`file`), each only when the socket takes bytes: a client that never reads holds no piece.

use super::file;
use crate::{
    handlers::{FileRange, Slice},
    limits,
};
use bytes::Buf;
use std::{
    collections::VecDeque,
    io::{self, IoSlice},
};
use tokio::{io::AsyncWriteExt, net::tcp::WriteHalf, task::JoinHandle};

/// Slices of one vectored write.
const SLICES_MAX: usize = 64;

#[derive(Debug, thiserror::Error)]
pub(super) enum WriteError {
    #[error("sending {len} bytes at {at} of a segment: {error}")]
    File { at: u64, len: usize, error: io::Error },
    #[error(transparent)]
    Socket(#[from] io::Error),
}

#[derive(Default)]
pub(super) struct Outbox {
    slices: VecDeque<Slice>,
    /// Bytes in `slices`.
    bytes: usize,
    /// The next piece is being read from the disk.
    loading: Option<JoinHandle<io::Result<()>>>,
    written: u64,
}

impl Outbox {
    pub fn push(&mut self, slices: Vec<Slice>) {
        for slice in slices.into_iter().filter(|slice| !slice.is_empty()) {
            self.bytes += slice.len();
            self.slices.push_back(slice);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.slices.is_empty()
    }

    /// Whether the connection should wait for its client to read before it begins another request.
    pub fn is_full(&self) -> bool {
        self.bytes >= limits::UNSENT_BYTES_MAX || self.slices.len() >= limits::UNSENT_SLICES_MAX
    }

    /// Bytes the socket has taken so far.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Writes some of it. Cancelling loses nothing.
    pub async fn write(&mut self, socket: &mut WriteHalf<'_>) -> Result<(), WriteError> {
        match self.slices.front() {
            None => {}
            Some(Slice::Bytes(_)) => {
                let taken = socket.write_vectored(&self.in_memory()).await?;
                if taken == 0 {
                    return Err(io::Error::from(io::ErrorKind::WriteZero).into());
                }
                self.advance(taken);
            }
            Some(Slice::File(range)) => {
                socket.writable().await?;
                let len = range.len.min(limits::FILE_PIECE_BYTES_MAX);
                let piece = FileRange { len, ..range.clone() };
                if self.loading.is_none() && !file::is_cached(&piece) {
                    self.loading = Some(file::load(piece.clone()));
                }
                if let Some(loading) = &mut self.loading {
                    let loaded = loading.await.unwrap_or_else(|lost| Err(io::Error::other(lost)));
                    self.loading = None;
                    loaded.map_err(|error| file::failed(&piece, error))?;
                }
                self.advance(file::send((*socket).as_ref(), &piece)?);
            }
        }
        Ok(())
    }

    fn in_memory(&self) -> Vec<IoSlice<'_>> {
        let bytes = self.slices.iter().map_while(|slice| match slice {
            Slice::Bytes(bytes) => Some(IoSlice::new(bytes)),
            Slice::File(_) => None,
        });
        bytes.take(SLICES_MAX).collect()
    }

    fn advance(&mut self, mut taken: usize) {
        self.bytes -= taken;
        self.written += taken as u64;
        while taken > 0 {
            let Some(first) = self.slices.front_mut() else { return };
            if first.len() <= taken {
                taken -= first.len();
                self.slices.pop_front();
                continue;
            }
            match first {
                Slice::Bytes(bytes) => bytes.advance(taken),
                Slice::File(range) => {
                    range.at += taken as u64;
                    range.len -= taken;
                }
            }
            return;
        }
    }
}
