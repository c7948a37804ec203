//! What records carry: a value that is unique in the history, and padding that shows whether all of it came through.

use std::fmt::Write;

/// `value`, the number of bytes of padding, the padding. `padding` is below a million.
pub fn encode(value: u64, padding: usize) -> Vec<u8> {
    let mut text = String::with_capacity(padding + 32);
    let _ = write!(text, "{value} {padding} ");
    let mut bytes = text.into_bytes();
    bytes.extend((0..padding).map(|index| pad(value, index)));
    bytes
}

/// The value; 0 when these are not the bytes that `encode` made.
pub fn decode(bytes: &[u8]) -> u64 {
    let mut parts = bytes.splitn(3, |byte| *byte == b' ');
    let mut number = || std::str::from_utf8(parts.next()?).ok()?.parse::<u64>().ok();
    let (Some(value), Some(padding)) = (number(), number()) else { return 0 };
    let Some(rest) = parts.next() else { return 0 };
    let whole = rest.len() as u64 == padding
        && rest.iter().enumerate().all(|(index, byte)| *byte == pad(value, index));
    if whole { value } else { 0 }
}

pub fn key(key: u32) -> String {
    key.to_string()
}

/// `u32::MAX`, which is never sent, when there is no such key.
pub fn decode_key(key: Option<&[u8]>) -> u32 {
    let parsed = key.and_then(|key| std::str::from_utf8(key).ok()?.parse().ok());
    parsed.unwrap_or(u32::MAX)
}

fn pad(value: u64, index: usize) -> u8 {
    b'a' + ((value + index as u64) % 23) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_comes_back_and_any_damage_makes_it_none() {
        for padding in [0, 1, 100] {
            let bytes = encode(4711, padding);
            assert_eq!(decode(&bytes), 4711);
            for index in 0..bytes.len() {
                let mut damaged = bytes.clone();
                damaged[index] ^= 1;
                assert_ne!(decode(&damaged), 4711, "byte {index} of {padding}");
            }
            assert_eq!(decode(&bytes[..bytes.len() - 1]), 0);
            assert_eq!(decode(&[&bytes[..], b"a"].concat()), 0);
        }
        assert_eq!(decode(b""), 0);
    }

    #[test]
    fn a_key_comes_back() {
        assert_eq!(decode_key(Some(key(7).as_bytes())), 7);
        assert_eq!(decode_key(Some(b"x")), u32::MAX);
        assert_eq!(decode_key(None), u32::MAX);
    }
}
