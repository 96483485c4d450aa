//! Numbers of variable length: seven bits a byte, the lowest first (LEB128).

/// Appends a number.
pub(super) fn put(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    out.push((number & 0x7f) as u8);
}

/// Takes a number from the front of `bytes`; `None` if there is none, or it does not fit in 64 bits.
pub(super) fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let low = u64::from(byte & 0x7f);
        if shift == 63 && low > 1 {
            return None;
        }
        number |= low << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_round_trip(numbers: Vec<u64>) {
            let mut out = Vec::new();
            for number in &numbers {
                put(*number, &mut out);
            }
            let mut rest = &out[..];
            for number in numbers {
                prop_assert_eq!(take(&mut rest), Some(number));
            }
            prop_assert_eq!(take(&mut rest), None);
        }

        #[test]
        fn any_bytes_are_handled_without_panic(bytes: Vec<u8>) {
            let mut rest = &bytes[..];
            while take(&mut rest).is_some() {}
        }
    }
}
