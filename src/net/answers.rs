//! The answers of one connection: computed in any order, sent in request order.

use super::{connection::End, outbox::Outbox};
use crate::{
    handlers::{Answer, Begun},
    limits,
};
use futures_util::{
    future::BoxFuture,
    stream::{FuturesOrdered, StreamExt},
};
use std::{future, pin::pin};
use tokio::{net::tcp::WriteHalf, select};

pub(super) struct Answers<'a> {
    /// Produce requests in progress, in request order.
    pending: FuturesOrdered<BoxFuture<'static, Answer>>,
    outbox: Outbox,
    socket: WriteHalf<'a>,
}

impl<'a> Answers<'a> {
    pub fn new(socket: WriteHalf<'a>) -> Answers<'a> {
        Answers { pending: FuturesOrdered::new(), outbox: Outbox::default(), socket }
    }

    /// Takes over a request that has begun.
    pub fn push(&mut self, begun: Begun) -> Result<(), End> {
        match begun {
            Begun::Answered(answer) if self.pending.is_empty() => self.take(answer),
            Begun::Answered(answer) => {
                self.pending.push_back(Box::pin(future::ready(answer)));
                Ok(())
            }
            Begun::Later(answer) => {
                self.pending.push_back(answer);
                Ok(())
            }
        }
    }

    /// Awaits `other` while answers are computed and sent.
    pub async fn meanwhile<T>(&mut self, other: impl Future<Output = T>) -> Result<T, End> {
        let mut other = pin!(other);
        loop {
            select! {
                biased;
                done = &mut other => return Ok(done),
                stepped = self.step() => stepped?,
            }
        }
    }

    /// Until another request may begin: the client reads its answers, and not too many are in progress.
    pub async fn room(&mut self) -> Result<(), End> {
        while self.outbox.is_full() || self.pending.len() >= limits::PRODUCE_IN_FLIGHT_MAX {
            self.step().await?;
        }
        Ok(())
    }

    /// Until every request so far has its answer, sent or not.
    pub async fn computed(&mut self) -> Result<(), End> {
        while !self.pending.is_empty() {
            self.step().await?;
        }
        Ok(())
    }

    /// Until everything has been sent.
    pub async fn finish(&mut self) -> Result<(), End> {
        while !self.pending.is_empty() || !self.outbox.is_empty() {
            self.step().await?;
        }
        Ok(())
    }

    /// Bytes the client has taken so far.
    pub fn written(&self) -> u64 {
        self.outbox.written()
    }

    /// One answer computed or some bytes sent; never, when there is nothing to do. Cancelling loses nothing.
    async fn step(&mut self) -> Result<(), End> {
        select! {
            biased;
            Some(answer) = self.pending.next() => self.take(answer),
            written = self.outbox.write(&mut self.socket), if !self.outbox.is_empty() => {
                Ok(written?)
            }
            else => future::pending().await,
        }
    }

    fn take(&mut self, answer: Answer) -> Result<(), End> {
        match answer {
            Answer::Reply(slices) => self.outbox.push(slices),
            Answer::Silent => {}
            Answer::Close => {
                self.pending = FuturesOrdered::new();
                return Err(End::Asked);
            }
        }
        Ok(())
    }
}
