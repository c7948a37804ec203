//! The four codecs of record batches, with a hard limit on what comes out.
//!
//! A batch's attributes name the codec of everything behind its header. Formats are Kafka's: snappy in the framing of
//! xerial's Java library or raw, one LZ4 frame of independent blocks, gzip and zstd streams. What Kafka's readers take is
//! taken, and nothing else: consumers have the same readers. Not here: what is compressed (`batch`, `record`).

use bytes::Bytes;
use std::io::{self, Read, Write};

/// A codec, as the low three bits of a batch's attributes name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Compression {
    None,
    Gzip,
    Snappy,
    Lz4,
    Zstd,
}

/// Why there is no payload.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CodecError {
    #[error("more than {0} bytes come out")]
    TooLarge(usize),
    #[error("not {0:?}: {1}")]
    Corrupt(Compression, String),
}

impl Compression {
    const ATTRIBUTE_MASK: i16 = 0x07;

    /// None for the ids 5 to 7, which no codec has.
    pub fn from_attributes(attributes: i16) -> Option<Compression> {
        match attributes & Self::ATTRIBUTE_MASK {
            0 => Some(Compression::None),
            1 => Some(Compression::Gzip),
            2 => Some(Compression::Snappy),
            3 => Some(Compression::Lz4),
            4 => Some(Compression::Zstd),
            _ => None,
        }
    }

    /// `attributes` with this codec's bits.
    pub fn set_in(self, attributes: i16) -> i16 {
        attributes & !Self::ATTRIBUTE_MASK | self as i16
    }
}

/// Decompresses `input`; never gives, and hardly ever reserves, more than `max` bytes.
pub fn decompress(codec: Compression, input: &[u8], max: usize) -> Result<Bytes, CodecError> {
    let output = match codec {
        Compression::None if input.len() > max => return Err(CodecError::TooLarge(max)),
        Compression::None => Bytes::copy_from_slice(input),
        Compression::Gzip => gzip(input, max)?,
        Compression::Lz4 => lz4(input, max)?,
        Compression::Zstd => {
            let decoder = zstd::stream::read::Decoder::with_buffer(input);
            read(codec, decoder.map_err(|error| corrupt(codec, error))?, max)?
        }
        Compression::Snappy => snappy(input, max)?,
    };
    Ok(output)
}

/// Compresses `input`. `level` is the codec's own; None is Kafka's default. Snappy and LZ4 have none here.
pub fn compress(codec: Compression, level: Option<i32>, input: &[u8]) -> io::Result<Bytes> {
    let output = match codec {
        Compression::None => input.to_vec(),
        Compression::Gzip => {
            let level = level.and_then(|level| u32::try_from(level).ok());
            let level = level.map_or_else(flate2::Compression::default, flate2::Compression::new);
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), level);
            encoder.write_all(input)?;
            encoder.finish()?
        }
        Compression::Lz4 => {
            let info = lz4_flex::frame::FrameInfo::new()
                .block_size(lz4_flex::frame::BlockSize::Max64KB)
                .block_mode(lz4_flex::frame::BlockMode::Independent);
            let mut encoder = lz4_flex::frame::FrameEncoder::with_frame_info(info, Vec::new());
            encoder.write_all(input)?;
            encoder.finish().map_err(io::Error::other)?
        }
        Compression::Zstd => {
            zstd::stream::encode_all(input, level.unwrap_or(zstd::DEFAULT_COMPRESSION_LEVEL))?
        }
        Compression::Snappy => xerial(input)?,
    };
    Ok(output.into())
}

fn corrupt(codec: Compression, error: impl ToString) -> CodecError {
    CodecError::Corrupt(codec, error.to_string())
}

fn read(codec: Compression, decoder: impl Read, max: usize) -> Result<Bytes, CodecError> {
    let mut output = Vec::new();
    read_into(codec, decoder, max, &mut output)?;
    Ok(output.into())
}

/// Adds what `decoder` gives to `output`, which may become `max` bytes long.
fn read_into(
    codec: Compression,
    decoder: impl Read,
    max: usize,
    output: &mut Vec<u8>,
) -> Result<(), CodecError> {
    let left = u64::try_from(max.saturating_sub(output.len())).unwrap_or(u64::MAX);
    let mut limited = decoder.take(left.saturating_add(1));
    limited.read_to_end(output).map_err(|error| corrupt(codec, error))?;
    if output.len() > max { Err(CodecError::TooLarge(max)) } else { Ok(()) }
}

/// The start of a gzip member that is deflated.
const GZIP_MAGIC: [u8; 3] = [0x1f, 0x8b, 8];

/// Members until something else follows, which is no part of the stream (`GZIPInputStream`).
fn gzip(input: &[u8], max: usize) -> Result<Bytes, CodecError> {
    let mut output = Vec::new();
    let mut left = input;
    loop {
        let mut member = flate2::bufread::GzDecoder::new(left);
        read_into(Compression::Gzip, &mut member, max, &mut output)?;
        left = member.into_inner();
        if !left.starts_with(&GZIP_MAGIC) {
            return Ok(output.into());
        }
    }
}

const LZ4_MAGIC: [u8; 4] = [0x04, 0x22, 0x4d, 0x18];
/// Of a frame's flags: the version, independent blocks, and the two bits for a dictionary and for future use.
const LZ4_FLAGS: u8 = 0b1110_0011;
const LZ4_FLAGS_WANTED: u8 = 0b0110_0000;

/// One frame, whole; what follows it is no part of it. Blocks must not refer to earlier ones
/// (`Lz4BlockInputStream`).
fn lz4(input: &[u8], max: usize) -> Result<Bytes, CodecError> {
    let codec = Compression::Lz4;
    let flags = input.strip_prefix(&LZ4_MAGIC).and_then(<[u8]>::first);
    if flags.is_none_or(|flags| flags & LZ4_FLAGS != LZ4_FLAGS_WANTED) {
        return Err(corrupt(codec, "not a frame of independent blocks"));
    }
    read(codec, lz4_flex::frame::FrameDecoder::new(ToTheEnd(input)), max)
}

/// Bytes whose reader must stop by itself: it is an error to want more than there are. Without it, a frame that lacks its
/// end would pass for a whole one.
struct ToTheEnd<'a>(&'a [u8]);

impl Read for ToTheEnd<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self.0.read(into)? {
            0 if !into.is_empty() => Err(io::ErrorKind::InvalidData.into()),
            len => Ok(len),
        }
    }
}

/// The start of xerial's framing; its version and lowest compatible version (int32 each) follow, then blocks of an int32
/// length and raw snappy. Streams may be concatenated (`SnappyInputStream`).
const XERIAL_MAGIC: [u8; 8] = [0x82, b'S', b'N', b'A', b'P', b'P', b'Y', 0];
const XERIAL_HEADER_BYTES: usize = 16;
/// What `SnappyOutputStream` compresses at a time.
const XERIAL_BLOCK_BYTES: usize = 32 << 10;
/// Raw snappy cannot expand more: 3 bytes copy at most 64.
const SNAPPY_EXPANSION_MAX: usize = 22;

fn snappy(input: &[u8], max: usize) -> Result<Bytes, CodecError> {
    let mut output = Vec::new();
    let cut = || corrupt(Compression::Snappy, "the bytes end within a block");
    if input.is_empty() {
        return Err(cut());
    }
    if !input.starts_with(&XERIAL_MAGIC) {
        snappy_block(input, max, &mut output)?;
        return Ok(output.into());
    }
    let mut left = input;
    while !left.is_empty() {
        if left.starts_with(&XERIAL_MAGIC) {
            left = left.get(XERIAL_HEADER_BYTES..).ok_or_else(cut)?;
            continue;
        }
        // Too few bytes for a length end the stream.
        let Some((len, rest)) = left.split_first_chunk() else { break };
        let len = usize::try_from(i32::from_be_bytes(*len)).map_err(|_| cut())?;
        let (block, rest) = rest.split_at_checked(len).ok_or_else(cut)?;
        snappy_block(block, max, &mut output)?;
        left = rest;
    }
    Ok(output.into())
}

fn snappy_block(block: &[u8], max: usize, output: &mut Vec<u8>) -> Result<(), CodecError> {
    let codec = Compression::Snappy;
    let len = snap::raw::decompress_len(block).map_err(|error| corrupt(codec, error))?;
    if len > block.len().saturating_mul(SNAPPY_EXPANSION_MAX) {
        return Err(corrupt(codec, "a block longer than its bytes can give"));
    }
    let start = output.len();
    let end = start.checked_add(len).filter(|end| *end <= max).ok_or(CodecError::TooLarge(max))?;
    output.resize(end, 0);
    snap::raw::Decoder::new()
        .decompress(block, &mut output[start..])
        .map_err(|error| corrupt(codec, error))?;
    Ok(())
}

fn xerial(input: &[u8]) -> io::Result<Vec<u8>> {
    let mut output = XERIAL_MAGIC.to_vec();
    output.extend([0, 0, 0, 1, 0, 0, 0, 1]);
    let mut encoder = snap::raw::Encoder::new();
    for chunk in input.chunks(XERIAL_BLOCK_BYTES) {
        let block = encoder.compress_vec(chunk).map_err(io::Error::other)?;
        let len = i32::try_from(block.len()).map_err(io::Error::other)?;
        output.extend(len.to_be_bytes());
        output.extend(block);
    }
    Ok(output)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lz4_flex::frame::{BlockMode, FrameEncoder, FrameInfo};

    const ALL: [Compression; 5] = [
        Compression::None,
        Compression::Gzip,
        Compression::Snappy,
        Compression::Lz4,
        Compression::Zstd,
    ];

    fn text(len: usize) -> Vec<u8> {
        (0..len).map(|at| b'a' + (at / 7 % 26) as u8).collect()
    }

    #[test]
    fn what_is_compressed_comes_back() {
        for codec in ALL {
            for len in [0, 1, 1000, 100_000] {
                let packed = compress(codec, None, &text(len)).unwrap();
                assert_eq!(decompress(codec, &packed, len).unwrap(), text(len), "{codec:?} {len}");
            }
        }
    }

    #[test]
    fn what_comes_out_is_limited() {
        for codec in ALL {
            let packed = compress(codec, None, &text(100_000)).unwrap();
            let result = decompress(codec, &packed, 99_999);
            assert_eq!(result, Err(CodecError::TooLarge(99_999)), "{codec:?}");
        }
        let lying = [0xff, 0xff, 0xff, 0xff, 0x0f, 0];
        assert!(matches!(
            decompress(Compression::Snappy, &lying, usize::MAX),
            Err(CodecError::Corrupt(..))
        ));
    }

    #[test]
    fn spoilt_bytes_are_an_error_or_other_bytes_but_no_panic() {
        for codec in ALL {
            let packed = compress(codec, None, &text(3000)).unwrap();
            for at in 0..packed.len() {
                let _ = decompress(codec, &packed[..at], 4000);
                let mut spoilt = packed.to_vec();
                spoilt[at] ^= 0xff;
                let _ = decompress(codec, &spoilt, 4000);
            }
        }
    }

    /// `"ottla keeps records as they are; " * 40` as Kafka's Java producer compresses it (`Compression.wrapForOutput`).
    const FROM_JAVA: [(Compression, &str); 4] = [
        (
            Compression::Gzip,
            "1f8b08000000000000ffcb2f29c94954c84e4d2d2856284a4dce2f4a2956482c5628c948ad54482c4ab556c81f55\
            30aa6054c1a88291ad0000617c504128050000",
        ),
        (
            Compression::Snappy,
            "82534e4150505900000000010000000100000062a80a806f74746c61206b65657073207265636f72647320617320\
            74686579206172653b20fe2100fe2100fe2100fe2100fe2100fe2100fe2100fe2100fe2100fe2100fe2100fe2100\
            fe2100fe2100fe2100fe2100fe2100fe2100fe2100fe21000d21",
        ),
        (
            Compression::Lz4,
            "04224d1860408230000000ff126f74746c61206b65657073207265636f7264732061732074686579206172653b20\
            2100fffffffff3506172653b2000000000",
        ),
        (
            Compression::Zstd,
            "28b52ffd005854010014026f74746c61206b65657073207265636f7264732061732074686579206172653b200100\
            2188fcea09010000",
        ),
    ];

    fn bytes(digits: &str) -> Vec<u8> {
        let pair = |at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
        (0..digits.len()).step_by(2).map(pair).collect()
    }

    #[test]
    fn what_java_compresses_is_read() {
        let expected = "ottla keeps records as they are; ".repeat(40);
        for (codec, digits) in FROM_JAVA {
            assert_eq!(
                decompress(codec, &bytes(digits), 1320).unwrap(),
                expected.as_bytes(),
                "{codec:?}"
            );
        }
    }

    #[test]
    fn snappy_is_read_raw_and_concatenated() {
        let raw = snap::raw::Encoder::new().compress_vec(b"hello").unwrap();
        assert_eq!(decompress(Compression::Snappy, &raw, 5).unwrap(), b"hello"[..]);
        let twice = [xerial(b"hel").unwrap(), xerial(b"lo").unwrap()].concat();
        assert_eq!(decompress(Compression::Snappy, &twice, 5).unwrap(), b"hello"[..]);
    }

    /// As seen on Kafka 4.1.1, which refuses a batch for each `None`.
    #[test]
    fn what_follows_a_stream_and_what_it_lacks() {
        let half = &text(50)[..];
        let packed: Vec<(Compression, Bytes)> =
            ALL[1..].iter().map(|codec| (*codec, compress(*codec, None, half).unwrap())).collect();
        let (once, twice) = (Some(half.to_vec()), Some([half, half].concat()));
        type Case<'a> = (&'a str, fn(&[u8]) -> Vec<u8>, [&'a Option<Vec<u8>>; 4]);
        let cases: [Case; 6] = [
            ("nothing", |_| Vec::new(), [&None; 4]),
            ("cut", |whole| whole[..whole.len() - 3].to_vec(), [&None; 4]),
            ("garbage behind it", |whole| [whole, &[7; 30]].concat(), [&once, &None, &once, &None]),
            ("3 bytes behind it", |whole| [whole, &[7; 3]].concat(), [&once, &once, &once, &None]),
            ("zeros behind it", |whole| [whole, &[0; 30]].concat(), [&once, &None, &once, &None]),
            ("twice", |whole| [whole, whole].concat(), [&twice, &twice, &once, &twice]),
        ];
        for (what, change, expected) in cases {
            for ((codec, packed), expected) in packed.iter().zip(expected) {
                let got = decompress(*codec, &change(packed), 1000).ok();
                assert_eq!(got.map(Vec::from), *expected, "{codec:?}: {what}");
            }
        }
    }

    #[test]
    fn lz4_is_one_frame_of_independent_blocks() {
        let (_, digits) = FROM_JAVA[2];
        let frame = bytes(digits);
        let with = |at: usize, value: u8| {
            let mut frame = frame.clone();
            frame[at] = value;
            decompress(Compression::Lz4, &frame, 2000).is_ok()
        };
        assert!(with(4, 0x60));
        for (at, value, what) in [
            (3, 0x19, "magic"),
            (4, 0x40, "linked blocks"),
            (4, 0xa0, "version 2"),
            (4, 0x61, "a dictionary"),
            (5, 0x50, "another header than was summed"),
            (6, 0x31, "header checksum"),
        ] {
            assert!(!with(at, value), "{what}");
        }
        assert!(decompress(Compression::Lz4, &frame[..frame.len() - 4], 2000).is_err(), "no end");
        for (mode, taken) in [(BlockMode::Independent, true), (BlockMode::Linked, false)] {
            let info = FrameInfo::new().block_mode(mode);
            let mut encoder = FrameEncoder::with_frame_info(info, Vec::new());
            encoder.write_all(&text(1000)).unwrap();
            let frame = encoder.finish().unwrap();
            assert_eq!(decompress(Compression::Lz4, &frame, 2000).is_ok(), taken, "{mode:?}");
        }
    }

    #[test]
    fn codecs_are_named_by_attribute_bits() {
        for codec in ALL {
            assert_eq!(Compression::from_attributes(codec.set_in(0x17)), Some(codec));
            assert_eq!(codec.set_in(0x17) & !7, 0x10);
        }
        assert_eq!(Compression::from_attributes(5), None);
    }
}
