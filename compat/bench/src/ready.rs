//! On which of many connections answers can be read (epoll): for a thread that takes those of all.

use crate::client::{Receiver, SILENCE};
use anyhow::{Result, ensure};
use rustix::{
    buffer::spare_capacity,
    event::{Timespec, epoll},
    fd::OwnedFd,
    io::retry_on_intr,
};

pub struct Ready {
    epoll: OwnedFd,
    events: Vec<epoll::Event>,
    silence: Timespec,
}

impl Ready {
    /// Of these; they are known by their place in the order they come in.
    pub fn of<'a>(receivers: impl Iterator<Item = &'a Receiver>) -> Result<Ready> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let mut count = 0;
        for receiver in receivers {
            let index = epoll::EventData::new_u64(count);
            epoll::add(&epoll, receiver.stream(), index, epoll::EventFlags::IN)?;
            count += 1;
        }
        let events = Vec::with_capacity(count.max(1) as usize);
        Ok(Ready { epoll, events, silence: SILENCE.try_into()? })
    }

    /// Waits until something can be read, and says where.
    pub fn wait(&mut self) -> Result<impl Iterator<Item = usize>> {
        let Ready { epoll, events, silence } = self;
        retry_on_intr(|| epoll::wait(&*epoll, spare_capacity(events), Some(silence)))?;
        ensure!(!events.is_empty(), "no answer for {SILENCE:?}");
        Ok(events.drain(..).map(|event| event.data.u64() as usize))
    }
}
