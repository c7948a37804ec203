//! Walks a request's body by its shape and refuses what would make the decoder reserve too much or read nonsense.
//!
//! The crate's decoders reserve room for as many elements as the wire announces, so five bytes can ask for gigabytes; what
//! the walker lets through decodes without a surprise. It allocates nothing and reads every length once. Bytes behind the
//! last field are ignored, as in Kafka (`AbstractRequest.parseRequest`).

use super::{
    decode::DecodeError,
    shape::{Field, Prefix},
};
use crate::limits::{REQUEST_MEMORY_BASE, REQUEST_MEMORY_FACTOR, REQUEST_MEMORY_MAX};

/// Bytes that an array takes beside its elements: what the allocator adds and rounds up.
const ARRAY_MEMORY: usize = 24;
/// Bytes of an unknown tagged field once decoded: its share of a B-tree leaf, which may be half full.
pub(super) const UNKNOWN_TAG_MEMORY: usize = 100;
/// Bytes that the first one of a struct takes beside that: a leaf has room for eleven.
pub(super) const UNKNOWN_TAGS_MEMORY: usize = 400;

/// Checks `body` against `fields`; `elements_max` bounds all array elements and tagged fields together.
pub(super) fn walk(fields: &[Field], body: &[u8], elements_max: usize) -> Result<(), DecodeError> {
    let memory =
        REQUEST_MEMORY_BASE.saturating_add(REQUEST_MEMORY_FACTOR.saturating_mul(body.len()));
    let memory = memory.min(REQUEST_MEMORY_MAX);
    Walk { left: body, elements: elements_max, memory, strings: None }.fields(fields)
}

/// A body that `walk` accepts with every byte that is no UTF-8 replaced by `?` in its strings; None when there is none.
/// The decoder refuses such strings, while Kafka reads them with U+FFFD, which would take more room.
pub(super) fn with_utf8(fields: &[Field], body: &[u8]) -> Option<Vec<u8>> {
    let strings = Some(Vec::new());
    let mut walk = Walk { left: body, elements: usize::MAX, memory: usize::MAX, strings };
    walk.fields(fields).ok()?;
    let mut repaired = None;
    for string in walk.strings? {
        let mut at = string.as_ptr() as usize - body.as_ptr() as usize;
        for chunk in string.utf8_chunks() {
            at += chunk.valid().len();
            let invalid = chunk.invalid().len();
            if invalid > 0 {
                repaired.get_or_insert_with(|| body.to_vec())[at..at + invalid].fill(b'?');
            }
            at += invalid;
        }
    }
    repaired
}

/// Reads an unsigned varint of at most 32 bits.
pub(super) fn unsigned_varint(left: &mut &[u8]) -> Result<u32, DecodeError> {
    let mut value = 0;
    for at in 0..5 {
        let (&byte, rest) = left.split_first().ok_or(DecodeError::Truncated)?;
        *left = rest;
        value |= u32::from(byte & 0x7f) << (7 * at);
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(DecodeError::Varint)
}

struct Walk<'a> {
    left: &'a [u8],
    /// How many more elements and tags there may be.
    elements: usize,
    /// How many more bytes of memory the decoded request may take.
    memory: usize,
    /// All strings, when they are asked for.
    strings: Option<Vec<&'a [u8]>>,
}

impl<'a> Walk<'a> {
    fn fields(&mut self, fields: &[Field]) -> Result<(), DecodeError> {
        for field in fields {
            match field {
                Field::Fixed(bytes) => {
                    self.take(*bytes)?;
                }
                Field::Blob { prefix, nullable, is_string, max } => {
                    let len = self.length(*prefix, *nullable)?.unwrap_or(0);
                    if len > *max {
                        return Err(DecodeError::TooLong(len));
                    }
                    let blob = self.take(len)?;
                    if *is_string && let Some(strings) = &mut self.strings {
                        strings.push(blob);
                    }
                }
                Field::Array { prefix, nullable, element_memory, element } => {
                    let count = self.length(*prefix, *nullable)?.unwrap_or(0);
                    self.array(count, *element_memory, element)?;
                }
                Field::Struct { nullable, fields } => {
                    if !nullable || self.present()? {
                        self.fields(fields)?;
                    }
                }
                Field::Tags(known) => self.tags(known)?,
            }
        }
        Ok(())
    }

    fn array(
        &mut self,
        count: usize,
        element_memory: usize,
        element: &[Field],
    ) -> Result<(), DecodeError> {
        if count > self.left.len() {
            return Err(DecodeError::Count { count, left: self.left.len() });
        }
        if count == 0 {
            return Ok(());
        }
        let memory = count.saturating_mul(element_memory).saturating_add(ARRAY_MEMORY);
        self.spend(count, memory)?;
        if let [Field::Fixed(bytes)] = element {
            self.take(count.saturating_mul(*bytes))?;
        } else {
            for _ in 0..count {
                self.fields(element)?;
            }
        }
        Ok(())
    }

    fn tags(&mut self, known: &[(u32, Vec<Field>)]) -> Result<(), DecodeError> {
        let count = unsigned_varint(&mut self.left)?;
        let mut unknown = false;
        for _ in 0..count {
            let tag = unsigned_varint(&mut self.left)?;
            let size = unsigned_varint(&mut self.left)? as usize;
            let value = self.take(size)?;
            let Some((_, fields)) = known.iter().find(|(known, _)| *known == tag) else {
                self.spend(1, UNKNOWN_TAG_MEMORY + if unknown { 0 } else { UNKNOWN_TAGS_MEMORY })?;
                unknown = true;
                continue;
            };
            self.spend(1, 0)?;
            let after = std::mem::replace(&mut self.left, value);
            self.fields(fields)?;
            if !self.left.is_empty() {
                return Err(DecodeError::TagSize(tag));
            }
            self.left = after;
        }
        Ok(())
    }

    /// A length or count; None for null. `take` and `array` compare it with what is left.
    fn length(&mut self, prefix: Prefix, nullable: bool) -> Result<Option<usize>, DecodeError> {
        let length = match prefix {
            Prefix::Int16 => i64::from(i16::from_be_bytes(self.take_array()?)),
            Prefix::Int32 => i64::from(i32::from_be_bytes(self.take_array()?)),
            Prefix::Compact => i64::from(unsigned_varint(&mut self.left)?) - 1,
        };
        match usize::try_from(length) {
            Ok(length) => Ok(Some(length)),
            Err(_) if nullable && length == -1 => Ok(None),
            Err(_) => Err(DecodeError::Length(length)),
        }
    }

    /// The byte before a nullable struct: 1, or negative for null. The crate skips the struct for any other value.
    fn present(&mut self) -> Result<bool, DecodeError> {
        let [byte] = self.take_array()?;
        match byte as i8 {
            1 => Ok(true),
            negative if negative < 0 => Ok(false),
            other => Err(DecodeError::Length(i64::from(other))),
        }
    }

    fn take(&mut self, bytes: usize) -> Result<&'a [u8], DecodeError> {
        let (taken, left) = self.left.split_at_checked(bytes).ok_or(DecodeError::Truncated)?;
        self.left = left;
        Ok(taken)
    }

    fn take_array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (taken, left) = self.left.split_first_chunk().ok_or(DecodeError::Truncated)?;
        self.left = left;
        Ok(*taken)
    }

    fn spend(&mut self, elements: usize, memory: usize) -> Result<(), DecodeError> {
        self.elements = self.elements.checked_sub(elements).ok_or(DecodeError::TooManyElements)?;
        self.memory = self.memory.checked_sub(memory).ok_or(DecodeError::TooMuchMemory)?;
        Ok(())
    }
}
