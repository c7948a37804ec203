//! The records inside a batch: read where they lie, never decoded and encoded again.
//!
//! A record is a varint length, attributes, varint deltas to the batch's timestamp and offset, key, value and headers
//! (KIP-98; `DefaultRecord`). Keys of headers may repeat and keep their order.

use super::{
    batch::Header,
    varint::{take_varint, take_varlong},
};

/// One record, borrowing from its batch's decompressed payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    pub offset: i64,
    /// Relative to the batch's base offset.
    pub offset_delta: i32,
    /// Milliseconds since the epoch; the batch's in LogAppendTime.
    pub timestamp: i64,
    pub key: Option<&'a [u8]>,
    pub value: Option<&'a [u8]>,
    pub headers: Headers<'a>,
    /// The whole record as it lies in the payload, its length included.
    pub bytes: &'a [u8],
}

/// The headers of a record, already checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Headers<'a> {
    count: usize,
    left: &'a [u8],
}

/// What is wrong with a payload. Kafka answers INVALID_RECORD to all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    #[error("the payload ends within a record")]
    Truncated,
    #[error("a record is not as long as it says")]
    Length,
    #[error("a length or count inside a record is negative or beyond its end")]
    Structure,
    #[error("bytes behind the last record")]
    Trailing,
}

/// Iterates over the `header.records_count` records of a decompressed payload; ends after the first error.
pub fn records<'a>(header: &Header, payload: &'a [u8]) -> Records<'a> {
    Records {
        base_offset: header.base_offset,
        base_timestamp: header.base_timestamp,
        log_append_time: header.is_log_append_time().then_some(header.max_timestamp),
        remaining: header.records_count.max(0),
        left: payload,
    }
}

/// See [`records`].
#[derive(Debug, Clone)]
pub struct Records<'a> {
    base_offset: i64,
    base_timestamp: i64,
    log_append_time: Option<i64>,
    remaining: i32,
    left: &'a [u8],
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.remaining == 0 {
            return None;
        }
        self.remaining -= 1;
        let mut record = self.record();
        if self.remaining == 0 && !self.left.is_empty() {
            record = record.and(Err(RecordError::Trailing));
        }
        if record.is_err() {
            self.remaining = 0;
        }
        Some(record)
    }
}

impl<'a> Records<'a> {
    fn record(&mut self) -> Result<Record<'a>, RecordError> {
        let start = self.left;
        let len = take_varint(&mut self.left).ok_or(RecordError::Truncated)?;
        let len = usize::try_from(len).map_err(|_| RecordError::Length)?;
        let (mut body, after) = self.left.split_at_checked(len).ok_or(RecordError::Truncated)?;
        self.left = after;
        let bytes = &start[..start.len() - after.len()];
        let record = self.fields(&mut body, bytes).ok_or(RecordError::Structure)?;
        if body.is_empty() { Ok(record) } else { Err(RecordError::Length) }
    }

    /// Reads the fields off `body`; None when they do not fit in it.
    fn fields(&self, body: &mut &'a [u8], bytes: &'a [u8]) -> Option<Record<'a>> {
        let (_attributes, rest) = body.split_first()?;
        *body = rest;
        let timestamp = self.base_timestamp.wrapping_add(take_varlong(body)?);
        let offset_delta = take_varint(body)?;
        let key = take_bytes(body)?;
        let value = take_bytes(body)?;
        let count = usize::try_from(take_varint(body)?).ok()?;
        let headers = *body;
        for _ in 0..count {
            take_bytes(body)??;
            take_bytes(body)?;
        }
        Some(Record {
            offset: self.base_offset.wrapping_add(offset_delta.into()),
            offset_delta,
            timestamp: self.log_append_time.unwrap_or(timestamp),
            key,
            value,
            headers: Headers { count, left: &headers[..headers.len() - body.len()] },
            bytes,
        })
    }
}

impl<'a> Iterator for Headers<'a> {
    type Item = (&'a [u8], Option<&'a [u8]>);

    fn next(&mut self) -> Option<Self::Item> {
        self.count = self.count.checked_sub(1)?;
        let key = take_bytes(&mut self.left)??;
        Some((key, take_bytes(&mut self.left)?))
    }
}

/// Bytes behind a varint length; a negative length is null.
fn take_bytes<'a>(left: &mut &'a [u8]) -> Option<Option<&'a [u8]>> {
    let Ok(len) = usize::try_from(take_varint(left)?) else { return Some(None) };
    let (bytes, rest) = left.split_at_checked(len)?;
    *left = rest;
    Some(Some(bytes))
}
