//! The endorsement key, and what a challenge is bound to.

use anyhow::{Result, ensure};
use ring::digest::{SHA256, digest};

use super::wire::Message;

/// Bytes of a coordinate.
const COORDINATE: usize = 32;
/// The public area of the standard endorsement key on the curve P-256, up to its point (TCG EK Credential Profile 2.5, template L-2): a
/// restricted decryption key of the TPM's own, for whose use the policy asks that the endorsement hierarchy authorises it.
const TEMPLATE: [u8; 54] = [
    0x00, 0x23, 0x00, 0x0b, 0x00, 0x03, 0x00, 0xb2, 0x00, 0x20, 0x83, 0x71, 0x97, 0x67, 0x44, 0x84, 0xb3,
    0xf8, 0x1a, 0x90, 0xcc, 0x8d, 0x46, 0xa5, 0xd7, 0x24, 0xfd, 0x52, 0xd7, 0x6e, 0x06, 0x52, 0x0b, 0x64,
    0xf2, 0xa1, 0xda, 0x1b, 0x33, 0x14, 0x69, 0xaa, 0x00, 0x06, 0x00, 0x80, 0x00, 0x43, 0x00, 0x10, 0x00,
    0x03, 0x00, 0x10,
];

/// An endorsement key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndorsementKey {
    x: [u8; COORDINATE],
    y: [u8; COORDINATE],
}

impl EndorsementKey {
    /// Reads a public area (`TPMT_PUBLIC`).
    ///
    /// # Errors
    /// It is not that of the standard key.
    pub fn read(public: &[u8]) -> Result<Self> {
        let mut reader = super::wire::Reader::new(public);
        let parameters = reader.bytes(TEMPLATE.len())?;
        ensure!(parameters == TEMPLATE, "the key is not the standard endorsement key on P-256");
        let (x, y) = (coordinate(reader.sized()?)?, coordinate(reader.sized()?)?);
        ensure!(reader.rest().is_empty(), "something stands behind the endorsement key");
        Ok(Self { x, y })
    }

    /// What a TPM makes it of: a point of zeros.
    pub fn template() -> Vec<u8> {
        Self { x: [0; COORDINATE], y: [0; COORDINATE] }.public()
    }

    /// Its public area.
    pub fn public(&self) -> Vec<u8> {
        let message = Message::default().bytes(&TEMPLATE);
        message.sized(&self.x).sized(&self.y).into_bytes()
    }

    /// The first coordinate of its point.
    pub fn x(&self) -> &[u8; COORDINATE] {
        &self.x
    }

    /// Its point, without compression (SEC 1).
    pub fn point(&self) -> Vec<u8> {
        [&[4], self.x.as_slice(), &self.y].concat()
    }
}

/// A coordinate; some TPMs leave out the zeros at its beginning.
fn coordinate(bytes: &[u8]) -> Result<[u8; COORDINATE]> {
    ensure!(bytes.len() <= COORDINATE, "a coordinate of {} bytes is none of P-256", bytes.len());
    let mut padded = [0; COORDINATE];
    padded[COORDINATE - bytes.len()..].copy_from_slice(bytes);
    Ok(padded)
}

/// What a challenge is bound to: an object that holds the checksum of the machine's certificate. A TPM opens the challenge only while this very
/// object is loaded, and an agent loads the one of its own certificate and no other: who has another certificate cannot have the challenge
/// opened by an agent that means well.
pub struct Binding {
    certificate: [u8; 32],
}

impl Binding {
    /// Of the certificate with this SHA-256.
    pub fn new(certificate: [u8; 32]) -> Self {
        Self { certificate }
    }

    /// Its public area: data, which everybody may use, told by a checksum of what it holds.
    pub fn public(&self) -> Vec<u8> {
        let unique = digest(&SHA256, &[[0; 32], self.certificate].concat());
        // KEYEDHASH, SHA-256; userWithAuth and noDA; no policy, no scheme.
        Message::default()
            .u16(8)
            .u16(0x0b)
            .u32(0x440)
            .sized(&[])
            .u16(0x10)
            .sized(unique.as_ref())
            .into_bytes()
    }

    /// What it holds (`TPMT_SENSITIVE`): no password, a seed of zeros, the checksum.
    pub fn sensitive(&self) -> Vec<u8> {
        Message::default().u16(8).sized(&[]).sized(&[0; 32]).sized(&self.certificate).into_bytes()
    }

    /// Its name: the checksum of its public area, with the checksum's kind before it.
    pub fn name(&self) -> Vec<u8> {
        Message::default().u16(0x0b).bytes(digest(&SHA256, &self.public()).as_ref()).into_bytes()
    }
}
