//! One connection, from its first byte to its last. Its task owns the session.

use super::{
    Dispatch, Settings,
    answers::Answers,
    buffers::Buffers,
    frames::{FrameError, Frames, api_key},
    outbox::WriteError,
};
use crate::{handlers, limits, session::Session};
use bytes::Bytes;
use std::{convert::Infallible, sync::Arc, time::Duration};
use tokio::{
    net::{TcpStream, tcp::ReadHalf},
    select,
    sync::watch,
    time::timeout,
};

/// Why a connection ended.
#[derive(Debug, thiserror::Error)]
pub(super) enum End {
    #[error("closed by the peer")]
    Peer,
    #[error("gone while a request was waiting")]
    PeerWhileWaiting,
    #[error("closed by the answer to a request")]
    Asked,
    #[error("idle")]
    Idle,
    #[error("the broker stops")]
    Stopping,
    #[error(transparent)]
    Frame(#[from] FrameError),
    #[error(transparent)]
    Write(#[from] WriteError),
}

impl End {
    /// Whether answers to earlier requests should still leave.
    fn flushes(&self) -> bool {
        match self {
            End::Peer | End::Asked | End::Stopping => true,
            End::Frame(FrameError::Io(_)) => false,
            End::Frame(_) => true,
            End::PeerWhileWaiting | End::Idle | End::Write(_) => false,
        }
    }
}

/// Serves `socket` until it ends. When `stopping` becomes true, requests in progress are answered and no other begins.
pub(super) async fn run<D: Dispatch>(
    mut socket: TcpStream,
    mut session: Session,
    dispatch: D,
    settings: Settings,
    buffers: Arc<Buffers>,
    stopping: watch::Receiver<bool>,
) -> End {
    let (reader, writer) = socket.split();
    let mut answers = Answers::new(writer);
    let frames = Frames::new(settings.request_bytes_max, buffers);
    let mut connection = Connection { frames, reader, idle: settings.idle, dispatch };
    let Err(end) = connection.serve(&mut session, &mut answers, stopping).await;
    if end.flushes() {
        let patience = Duration::from_millis(limits::CLOSE_FLUSH_MS_MAX);
        // What cannot be sent in time is lost with the connection; `end` already says why it closes.
        let _ = timeout(patience, answers.finish()).await;
    }
    end
}

struct Connection<'a, D> {
    frames: Frames,
    reader: ReadHalf<'a>,
    idle: Option<Duration>,
    dispatch: D,
}

impl<D: Dispatch> Connection<'_, D> {
    async fn serve(
        &mut self,
        session: &mut Session,
        answers: &mut Answers<'_>,
        mut stopping: watch::Receiver<bool>,
    ) -> Result<Infallible, End> {
        let mut stop = Box::pin(async move { stopping.wait_for(|stop| *stop).await.is_ok() });
        loop {
            let frame = select! {
                biased;
                frame = self.next_frame(answers) => frame?,
                _ = &mut stop => return Err(End::Stopping),
            };
            let overlaps = api_key(&frame).is_some_and(handlers::overlaps);
            if !overlaps {
                answers.computed().await?;
            }
            let begin = self.dispatch.begin(session, frame);
            let begun = if overlaps {
                answers.meanwhile(begin).await?
            } else {
                let gone = self.frames.gone(&mut self.reader);
                let begin = async {
                    select! {
                        biased;
                        begun = begin => Ok(begun),
                        () = gone => Err(End::PeerWhileWaiting),
                    }
                };
                answers.meanwhile(begin).await??
            };
            answers.push(begun)?;
        }
    }

    /// Waits for the next frame, and before that for the client to take what is unsent.
    async fn next_frame(&mut self, answers: &mut Answers<'_>) -> Result<Bytes, End> {
        loop {
            let written = answers.written();
            let next = async {
                answers.room().await?;
                answers.meanwhile(self.frames.next(&mut self.reader)).await?.map_err(End::Frame)
            };
            let next = match self.idle {
                None => Ok(next.await),
                Some(idle) => timeout(idle, next).await,
            };
            match next {
                Ok(frame) => return frame?.ok_or(End::Peer),
                Err(_) if answers.written() > written => {}
                Err(_) => return Err(End::Idle),
            }
        }
    }
}
