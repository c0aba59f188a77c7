//! The endorsement key, and the object to which a challenge is bound.

use anyhow::{Result, ensure};
use ring::digest::{SHA256, digest};

use super::wire::Message;

/// The length of a coordinate in bytes.
const COORDINATE: usize = 32;
/// The public area of the standard endorsement key on the curve P-256, up to its point (TCG EK Credential Profile 2.5, template L-2): a
/// restricted decryption key of the TPM, whose policy requires the authorisation of the endorsement hierarchy.
const TEMPLATE: [u8; 54] = [
    0x00, 0x23, 0x00, 0x0b, 0x00, 0x03, 0x00, 0xb2, 0x00, 0x20, 0x83, 0x71, 0x97, 0x67, 0x44, 0x84, 0xb3,
    0xf8, 0x1a, 0x90, 0xcc, 0x8d, 0x46, 0xa5, 0xd7, 0x24, 0xfd, 0x52, 0xd7, 0x6e, 0x06, 0x52, 0x0b, 0x64,
    0xf2, 0xa1, 0xda, 0x1b, 0x33, 0x14, 0x69, 0xaa, 0x00, 0x06, 0x00, 0x80, 0x00, 0x43, 0x00, 0x10, 0x00,
    0x03, 0x00, 0x10,
];

/// An endorsement key: a point on the curve P-256.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndorsementKey {
    x: [u8; COORDINATE],
    y: [u8; COORDINATE],
}

impl EndorsementKey {
    /// Parses a public area (`TPMT_PUBLIC`).
    ///
    /// # Errors
    /// The public area is not that of a standard endorsement key.
    pub fn read(public: &[u8]) -> Result<Self> {
        let mut reader = super::wire::Reader::new(public);
        let parameters = reader.bytes(TEMPLATE.len())?;
        ensure!(parameters == TEMPLATE, "the key is not the standard endorsement key on P-256");
        let (x, y) = (coordinate(reader.sized()?)?, coordinate(reader.sized()?)?);
        ensure!(reader.rest().is_empty(), "something stands behind the endorsement key");
        Ok(Self { x, y })
    }

    /// Returns the template from which a TPM makes the key: its public area with a point of zeros.
    pub fn template() -> Vec<u8> {
        Self { x: [0; COORDINATE], y: [0; COORDINATE] }.public()
    }

    /// Returns the public area of the key.
    pub fn public(&self) -> Vec<u8> {
        let message = Message::default().bytes(&TEMPLATE);
        message.sized(&self.x).sized(&self.y).into_bytes()
    }

    /// Returns the x coordinate of the point.
    pub fn x(&self) -> &[u8; COORDINATE] {
        &self.x
    }

    /// Returns the uncompressed point (SEC 1).
    pub fn point(&self) -> Vec<u8> {
        [&[4], self.x.as_slice(), &self.y].concat()
    }
}

/// Returns a coordinate padded to its full length, since some TPMs omit leading zeros.
fn coordinate(bytes: &[u8]) -> Result<[u8; COORDINATE]> {
    ensure!(bytes.len() <= COORDINATE, "a coordinate of {} bytes is none of P-256", bytes.len());
    let mut padded = [0; COORDINATE];
    padded[COORDINATE - bytes.len()..].copy_from_slice(bytes);
    Ok(padded)
}

/// The object to which a challenge is bound: it contains the checksum of the machine's certificate. A TPM opens the challenge only
/// while this object is loaded, and an agent loads only the object of its own certificate. So a machine with another certificate cannot
/// make an honest agent open its challenge.
pub struct Binding {
    certificate: [u8; 32],
}

impl Binding {
    /// Returns the object for the certificate with this SHA-256 checksum.
    pub fn new(certificate: [u8; 32]) -> Self {
        Self { certificate }
    }

    /// Returns the public area: a data object that anybody may use, identified by a checksum of its content.
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

    /// Returns the content (`TPMT_SENSITIVE`): no password, a seed of zeros, the checksum.
    pub fn sensitive(&self) -> Vec<u8> {
        Message::default().u16(8).sized(&[]).sized(&[0; 32]).sized(&self.certificate).into_bytes()
    }

    /// Returns the name: the algorithm and the checksum of the public area.
    pub fn name(&self) -> Vec<u8> {
        Message::default().u16(0x0b).bytes(digest(&SHA256, &self.public()).as_ref()).into_bytes()
    }
}
