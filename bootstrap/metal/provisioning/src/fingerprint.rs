//! Checksums that identify certificates and tokens.

/// Returns the SHA-256 checksum in hexadecimal digits.
pub fn fingerprint(content: &[u8]) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, content);
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}
