//! The checksum of the internet protocols (RFC 1071), and its change without the rest of the packet (RFC 1624).

/// Adds up 16-bit words; an odd last byte is followed by a zero.
pub fn sum(start: u32, bytes: &[u8]) -> u32 {
    bytes.chunks(2).fold(start, |sum, pair| {
        let low = pair.get(1).copied().unwrap_or_default();
        fold(sum + u32::from(u16::from_be_bytes([pair[0], low])))
    })
}

/// Returns the checksum of a sum.
pub fn finish(sum: u32) -> [u8; 2] {
    let folded = u16::try_from(fold(fold(sum))).unwrap_or_default();
    (!folded).to_be_bytes()
}

/// Changes the checksum at `at` as the replacement of one word by another demands.
pub fn adjust(bytes: &mut [u8], at: usize, old: [u8; 2], new: [u8; 2]) {
    let word = |pair: [u8; 2]| u32::from(u16::from_be_bytes(pair));
    let complement = |pair: [u8; 2]| word(pair) ^ 0xffff;
    let before = [bytes[at], bytes[at + 1]];
    let changed = finish(complement(before) + complement(old) + word(new));
    bytes[at..at + 2].copy_from_slice(&changed);
}

fn fold(sum: u32) -> u32 {
    (sum & 0xffff) + (sum >> 16)
}
