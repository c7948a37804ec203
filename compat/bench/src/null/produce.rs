//! Produce v3 to v7, straight from the request's bytes to the answer's.

use anyhow::{Context, Result, ensure};
use bytes::{Buf, BufMut};

const VERSION_MIN: i16 = 3;
const VERSION_MAX: i16 = 7;
/// The first version whose answer has the log's start offset.
const LOG_START_FROM: i16 = 5;
/// Where a batch has its checksum, and where what that covers begins.
const CHECKSUM_AT: usize = 17;
const CHECKED_FROM: usize = 21;
const CORRUPT_MESSAGE: i16 = 2;
const NONE: i16 = 0;

/// What ApiVersions says of it.
pub const RANGE: (i16, i16, i16) = (0, VERSION_MIN, VERSION_MAX);

/// Appends the whole answer frame; there is none to acks=0.
pub fn answer(mut request: &[u8], answers: &mut Vec<u8>) -> Result<()> {
    let left = &mut request;
    left.try_get_i16()?;
    let version = left.try_get_i16()?;
    ensure!((VERSION_MIN..=VERSION_MAX).contains(&version), "Produce v{version}");
    let begin = answers.len();
    answers.put_u32(0);
    answers.put_u32(left.try_get_u32()?);
    // Client id, transactional id.
    string(left)?;
    string(left)?;
    let acks = left.try_get_i16()?;
    left.try_get_i32()?;
    let topics = left.try_get_u32()?;
    answers.put_u32(topics);
    for _ in 0..topics {
        let name = string(left)?;
        answers.put_u16(u16::try_from(name.len())?);
        answers.put_slice(name);
        let partitions = left.try_get_u32()?;
        answers.put_u32(partitions);
        for _ in 0..partitions {
            answers.put_i32(left.try_get_i32()?);
            let size = left.try_get_i32()?.max(0) as usize;
            let code = if is_whole(take(left, size)?) { NONE } else { CORRUPT_MESSAGE };
            answers.put_i16(code);
            // Base offset, log append time, log start offset.
            answers.put_i64(0);
            answers.put_i64(-1);
            if version >= LOG_START_FROM {
                answers.put_i64(0);
            }
        }
    }
    // Throttle time.
    answers.put_i32(0);
    let length = u32::try_from(answers.len() - begin - 4)?;
    answers[begin..begin + 4].copy_from_slice(&length.to_be_bytes());
    if acks == 0 {
        answers.truncate(begin);
    }
    Ok(())
}

/// Whether the batch is what its checksum says.
fn is_whole(batch: &[u8]) -> bool {
    batch.get(CHECKED_FROM..).is_some_and(|checked| {
        batch[CHECKSUM_AT..CHECKED_FROM] == crc32c::crc32c(checked).to_be_bytes()
    })
}

/// Null is empty.
fn string<'a>(left: &mut &'a [u8]) -> Result<&'a [u8]> {
    let size = left.try_get_i16()?.max(0) as usize;
    take(left, size)
}

fn take<'a>(left: &mut &'a [u8], size: usize) -> Result<&'a [u8]> {
    let (taken, rest) = left.split_at_checked(size).context("Produce: the request ends early")?;
    *left = rest;
    Ok(taken)
}
