//! Zigzag varints, as records use them (protocol buffers' sint32 and sint64).

use bytes::BufMut;

/// Takes a 64-bit zigzag varint; None when the bytes end or it is longer than ten bytes (`ByteUtils.readVarlong`).
pub(super) fn take_varlong(left: &mut &[u8]) -> Option<i64> {
    let mut value = 0u64;
    for at in 0..10 {
        let (&byte, rest) = left.split_first()?;
        *left = rest;
        value |= u64::from(byte & 0x7f) << (7 * at);
        if byte < 0x80 {
            return Some((value >> 1) as i64 ^ -((value & 1) as i64));
        }
    }
    None
}

/// Takes a 32-bit zigzag varint; None when the bytes end or it is longer than five bytes (`ByteUtils.readVarint`).
pub(super) fn take_varint(left: &mut &[u8]) -> Option<i32> {
    let mut value = 0u32;
    for at in 0..5 {
        let (&byte, rest) = left.split_first()?;
        *left = rest;
        value |= u32::from(byte & 0x7f) << (7 * at);
        if byte < 0x80 {
            return Some((value >> 1) as i32 ^ -((value & 1) as i32));
        }
    }
    None
}

/// Writes a zigzag varint. 32-bit values have the same form.
pub(super) fn put_varlong(out: &mut impl BufMut, value: i64) {
    let mut zigzag = ((value << 1) ^ (value >> 63)) as u64;
    while zigzag >= 0x80 {
        out.put_u8(zigzag as u8 | 0x80);
        zigzag >>= 7;
    }
    out.put_u8(zigzag as u8);
}

/// Bytes that `put_varlong` writes.
pub(super) fn varlong_len(value: i64) -> usize {
    let zigzag = ((value << 1) ^ (value >> 63)) as u64;
    let bits = 64 - (zigzag | 1).leading_zeros() as usize;
    bits.div_ceil(7)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_at_their_length() {
        let edges =
            (0..63).flat_map(|bit| [1i64 << bit, (1 << bit) - 1, -(1 << bit), -(1 << bit) - 1]);
        for value in edges.chain([0, i64::MIN, i64::MAX]) {
            let mut buf = Vec::new();
            put_varlong(&mut buf, value);
            assert_eq!(buf.len(), varlong_len(value), "{value}");
            let mut left = &buf[..];
            assert_eq!((take_varlong(&mut left), left), (Some(value), &[][..]));
            if let Ok(value) = i32::try_from(value) {
                assert_eq!(take_varint(&mut &buf[..]), Some(value));
            }
        }
    }

    #[test]
    fn endless_and_cut_ones_are_refused() {
        assert_eq!(take_varint(&mut &[0xff; 6][..]), None);
        assert_eq!(take_varlong(&mut &[0xff; 11][..]), None);
        assert_eq!(take_varint(&mut &[0x80][..]), None);
        assert_eq!(take_varlong(&mut &[][..]), None);
    }
}
