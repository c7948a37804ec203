//! Frames off a socket. Small ones are copied once, out of whatever one read returned; large ones are read into a buffer of
//! their own. An idle connection holds no memory here.

use super::buffers::{Buffer, Buffers};
use crate::{handlers, limits};
use bytes::{Buf, Bytes, BytesMut};
use std::{future, io, mem, mem::MaybeUninit, pin::Pin, sync::Arc, task::ready, time::Duration};
use tokio::{
    io::{AsyncRead, AsyncReadExt, ReadBuf},
    time::{sleep, timeout},
};

/// Bytes asked for by one read. Frames up to this size are copied.
const READ_BYTES: usize = 16 << 10;
const PREFIX_BYTES: usize = 4;
const SECOND: Duration = Duration::from_secs(1);

/// Why there can be no further frame.
#[derive(Debug, thiserror::Error)]
pub(super) enum FrameError {
    #[error("a frame of {0} bytes is announced")]
    Size(i32),
    #[error("a request of API {api_key} has {len} bytes")]
    TooLargeForApi { api_key: i16, len: usize },
    #[error("a frame stopped arriving")]
    Stalled,
    #[error(transparent)]
    Io(#[from] io::Error),
}

pub(super) struct Frames {
    request_bytes_max: usize,
    buffers: Arc<Buffers>,
    /// Arrived and not yet part of a frame.
    received: BytesMut,
    /// The frame that is arriving, when it has a buffer of its own.
    large: Option<Buffer>,
    ended: bool,
}

enum Split {
    Frame(Bytes),
    Large { len: usize, is_produce: bool },
    Incomplete,
}

impl Frames {
    pub fn new(request_bytes_max: usize, buffers: Arc<Buffers>) -> Frames {
        Frames { request_bytes_max, buffers, received: BytesMut::new(), large: None, ended: false }
    }

    /// The next frame, without its length prefix; None when the peer has sent its last. Cancelling loses nothing.
    pub async fn next(
        &mut self,
        socket: &mut (impl AsyncRead + Unpin),
    ) -> Result<Option<Bytes>, FrameError> {
        loop {
            if let Some(frame) = &mut self.large {
                if frame.missing() == 0 {
                    return Ok(self.large.take().map(Bytes::from_owner));
                }
                if !fill_large(frame, socket).await? {
                    return Ok(None);
                }
                continue;
            }
            match self.split()? {
                Split::Frame(frame) => return Ok(Some(frame)),
                Split::Large { len, is_produce } => {
                    let mut frame = self.buffers.take(len, is_produce).await;
                    self.received.advance(PREFIX_BYTES);
                    frame.extend(&self.received.split_to(len.min(self.received.len())));
                    self.large = Some(frame);
                }
                Split::Incomplete if self.ended => return Ok(None),
                Split::Incomplete => self.fill(socket).await?,
            }
        }
    }

    /// Resolves when the peer is gone, while a request waits: when reading fails, or some time after it has sent its last. A
    /// peer that has only closed its half still wants the answer, as on Kafka, and looks the same as one that has closed
    /// both. What arrives meanwhile is kept up to one read's worth; the rest stays in the socket. Cancelling loses nothing.
    pub async fn gone(&mut self, socket: &mut (impl AsyncRead + Unpin)) {
        while !self.ended && self.received.len() < READ_BYTES {
            if self.fill(socket).await.is_err() {
                return;
            }
        }
        if self.ended {
            sleep(Duration::from_millis(limits::HALF_CLOSED_MS_MAX)).await;
        } else {
            future::pending().await
        }
    }

    fn split(&mut self) -> Result<Split, FrameError> {
        let Some(&prefix) = self.received.first_chunk::<PREFIX_BYTES>() else {
            return Ok(Split::Incomplete);
        };
        let announced = i32::from_be_bytes(prefix);
        let len = match usize::try_from(announced) {
            Ok(len) if len <= self.request_bytes_max => len,
            _ => return Err(FrameError::Size(announced)),
        };
        let arrived = self.received.len() - PREFIX_BYTES;
        if arrived < len && len > READ_BYTES {
            let Some(api_key) = api_key(&self.received[PREFIX_BYTES..]) else {
                return Ok(Split::Incomplete);
            };
            let is_produce = handlers::overlaps(api_key);
            if len > limits::FRAME_BYTES_MAX && !is_produce {
                return Err(FrameError::TooLargeForApi { api_key, len });
            }
            // Before a read's worth has arrived, a frame is as small as any.
            return Ok(match self.received.len() {
                READ_BYTES.. => Split::Large { len, is_produce },
                _ => Split::Incomplete,
            });
        }
        Ok(if arrived < len {
            Split::Incomplete
        } else if arrived == len {
            let mut frame = mem::take(&mut self.received);
            frame.advance(PREFIX_BYTES);
            Split::Frame(frame.freeze())
        } else {
            self.received.advance(PREFIX_BYTES);
            Split::Frame(self.received.split_to(len).freeze())
        })
    }

    /// Waits for bytes; memory is taken when they are there.
    async fn fill(&mut self, socket: &mut (impl AsyncRead + Unpin)) -> io::Result<()> {
        if self.received.is_empty() {
            // What is left of it may still hold on to the memory of frames gone by.
            self.received = BytesMut::new();
        }
        future::poll_fn(|cx| {
            let mut scratch = [const { MaybeUninit::<u8>::uninit() }; READ_BYTES];
            let mut read = ReadBuf::uninit(&mut scratch);
            ready!(Pin::new(&mut *socket).poll_read(cx, &mut read))?;
            self.ended = read.filled().is_empty();
            self.received.extend_from_slice(read.filled());
            Ok(()).into()
        })
        .await
    }
}

/// Reads what `frame` has room for; false when the peer has sent its last. Gives up on a frame of which nothing arrives, and
/// on one that arrives slowly while others wait for memory.
async fn fill_large(
    frame: &mut Buffer,
    socket: &mut (impl AsyncRead + Unpin),
) -> Result<bool, FrameError> {
    let lane = frame.lane();
    let (bytes, room) = frame.room().await;
    let pace = bytes.capacity() / limits::FRAME_PACE_SECONDS;
    let mut part = socket.take(room as u64);
    let mut quiet = Duration::ZERO;
    loop {
        let before = part.limit();
        let filled = async {
            while part.limit() > 0 && part.read_buf(bytes).await? > 0 {}
            Ok::<_, io::Error>(())
        };
        if let Ok(filled) = timeout(SECOND, filled).await {
            filled?;
            return Ok(part.limit() == 0);
        }
        let arrived = (before - part.limit()) as usize;
        quiet = if arrived == 0 { quiet + SECOND } else { Duration::ZERO };
        let stalled = quiet >= Duration::from_millis(limits::FRAME_STALL_MS_MAX);
        if stalled || (arrived < pace && lane.is_contended()) {
            return Err(FrameError::Stalled);
        }
    }
}

/// The API key of a frame; None when it is too short to have one.
pub(super) fn api_key(frame: &[u8]) -> Option<i16> {
    frame.first_chunk::<2>().map(|key| i16::from_be_bytes(*key))
}
