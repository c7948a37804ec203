//! Splits a stream into frames, in one buffer that is used again and grows to the largest frame. For both ends: the client
//! and the null broker. Not here: reading from a socket.

use anyhow::{Result, ensure};
use std::ops::Range;

/// More than any frame here may be.
const FRAME_BYTES_MAX: usize = 256 << 20;
/// A frame begins with its length.
const LENGTH_BYTES: usize = 4;

pub struct Frames {
    buffer: Vec<u8>,
    /// What has been read and not yet taken.
    unread: Range<usize>,
}

impl Frames {
    /// A buffer of so many bytes at first.
    pub fn new(bytes: usize) -> Frames {
        Frames { buffer: vec![0; bytes.max(LENGTH_BYTES)], unread: 0..0 }
    }

    /// Takes the next frame if it is whole: where it lies, without its length, until `space` is asked for.
    pub fn next(&mut self) -> Result<Option<Range<usize>>> {
        let end = self.unread.start + self.wanted()?;
        if end > self.unread.end {
            return Ok(None);
        }
        let frame = self.unread.start + LENGTH_BYTES..end;
        self.unread.start = end;
        Ok(Some(frame))
    }

    pub fn bytes(&self, frame: Range<usize>) -> &[u8] {
        &self.buffer[frame]
    }

    /// Where to read to: room at least for the rest of the frame that has begun. Never empty.
    pub fn space(&mut self) -> Result<&mut [u8]> {
        let wanted = self.wanted()?;
        if self.unread.is_empty() {
            self.unread = 0..0;
        } else if self.unread.start + wanted > self.buffer.len() {
            self.buffer.copy_within(self.unread.clone(), 0);
            self.unread = 0..self.unread.len();
        }
        if wanted > self.buffer.len() {
            self.buffer.resize(wanted, 0);
        }
        Ok(&mut self.buffer[self.unread.end..])
    }

    /// So many bytes were read into `space`.
    pub fn filled(&mut self, bytes: usize) {
        self.unread.end += bytes;
    }

    /// Bytes of the frame that has begun, its length included, as far as it is known.
    fn wanted(&self) -> Result<usize> {
        let unread = &self.buffer[self.unread.clone()];
        let Some(length) = unread.first_chunk() else { return Ok(LENGTH_BYTES) };
        let length = u32::from_be_bytes(*length) as usize;
        ensure!(length <= FRAME_BYTES_MAX, "a frame of {length} bytes");
        Ok(LENGTH_BYTES + length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All frames of a stream that comes in pieces of `piece` bytes.
    fn split(stream: &[u8], piece: usize) -> Vec<Vec<u8>> {
        let mut frames = Frames::new(8);
        let (mut found, mut left) = (vec![], stream);
        loop {
            while let Some(frame) = frames.next().unwrap() {
                found.push(frames.bytes(frame).to_vec());
            }
            if left.is_empty() {
                return found;
            }
            let space = frames.space().unwrap();
            let size = piece.min(space.len()).min(left.len());
            space[..size].copy_from_slice(&left[..size]);
            frames.filled(size);
            left = &left[size..];
        }
    }

    #[test]
    fn frames_come_out_whole_however_the_stream_is_cut() {
        let frames = [&b"first"[..], b"", b"a longer one than the buffer", b"x"];
        let stream: Vec<u8> = frames
            .iter()
            .flat_map(|frame| [&(frame.len() as u32).to_be_bytes()[..], frame].concat())
            .collect();
        for piece in 1..=stream.len() {
            assert_eq!(split(&stream, piece), frames, "pieces of {piece}");
        }
    }

    #[test]
    fn a_length_that_cannot_be_is_an_error() {
        let mut frames = Frames::new(8);
        frames.space().unwrap()[..4].copy_from_slice(&[0xff; 4]);
        frames.filled(4);
        assert!(frames.next().is_err());
    }
}
