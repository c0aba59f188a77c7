//! The packets of RMCP+ (IPMI 2.0, sections 13.6 and 13.8).

use super::cipher::{BLOCK, Keys};

/// The header of RMCP 1.0: no acknowledgement, class IPMI.
const RMCP: [u8; 4] = [6, 0, 0xff, 7];
/// The session header of IPMI 1.5, without authentication.
const VERSION_1_5: u8 = 0;
/// The session header of IPMI 2.0.
const VERSION_2_0: u8 = 6;
/// The last byte of the trailer before the integrity code.
const NEXT_HEADER: u8 = 7;
const ENCRYPTED: u8 = 0x80;
const SIGNED: u8 = 0x40;

/// Payload types.
pub mod payload {
    /// An IPMI message.
    pub const IPMI: u8 = 0;
    /// RMCP+ Open Session Request.
    pub const OPEN_REQUEST: u8 = 0x10;
    /// RMCP+ Open Session Response.
    pub const OPEN_RESPONSE: u8 = 0x11;
    /// RAKP message 1.
    pub const RAKP_1: u8 = 0x12;
    /// RAKP message 2.
    pub const RAKP_2: u8 = 0x13;
    /// RAKP message 3.
    pub const RAKP_3: u8 = 0x14;
    /// RAKP message 4.
    pub const RAKP_4: u8 = 0x15;
}

/// A received packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Packet {
    /// An IPMI 1.5 packet outside of a session, with its message.
    Plain(Vec<u8>),
    /// An IPMI 2.0 packet outside of a session, with payload type and payload.
    Outside(u8, Vec<u8>),
    /// An IPMI 2.0 packet of the session with this identifier, with its verified and decrypted message.
    Inside(u32, Vec<u8>),
}

/// Returns an IPMI 1.5 packet outside of a session.
pub fn plain(message: &[u8]) -> Vec<u8> {
    let length = u8::try_from(message.len()).unwrap_or_default();
    [&RMCP[..], &[VERSION_1_5], &[0; 8], &[length], message].concat()
}

/// Returns an IPMI 2.0 packet outside of a session.
pub fn outside(kind: u8, payload: &[u8]) -> Vec<u8> {
    [&RMCP[..], &[VERSION_2_0, kind], &[0; 8], &length(payload), payload].concat()
}

/// Returns a packet of a session: the message is encrypted, then signed.
pub fn inside(keys: &Keys, session: u32, sequence: u32, message: &[u8], vector: [u8; BLOCK]) -> Vec<u8> {
    let encrypted = keys.encrypt(message, vector);
    let kind = payload::IPMI | ENCRYPTED | SIGNED;
    let (session, sequence) = (session.to_le_bytes(), sequence.to_le_bytes());
    let mut signed =
        [&[VERSION_2_0, kind], &session[..], &sequence, &length(&encrypted), &encrypted].concat();
    // The length of the signed data, including the pad length and the next header, must be a multiple of four bytes.
    let filling = (4 - (signed.len() + 2) % 4) % 4;
    signed.extend(std::iter::repeat_n(0xff, filling));
    signed.extend([u8::try_from(filling).unwrap_or_default(), NEXT_HEADER]);
    [&RMCP[..], &signed, &keys.signature(&signed)].concat()
}

fn length(payload: &[u8]) -> [u8; 2] {
    u16::try_from(payload.len()).unwrap_or_default().to_le_bytes()
}

/// Parses a packet; `None` if it is malformed, or belongs to a session and is not signed and encrypted with its keys.
pub fn read(datagram: &[u8], keys: Option<&Keys>) -> Option<Packet> {
    let rest = datagram.strip_prefix(&RMCP[..]).or_else(|| {
        // Some controllers send a sequence number, which matters only for acknowledgements.
        let (header, rest) = datagram.split_first_chunk::<4>()?;
        (header[0] == RMCP[0] && header[3] == RMCP[3]).then_some(rest)
    })?;
    match *rest.first()? {
        VERSION_1_5 => {
            let length = usize::from(*rest.get(9)?);
            Some(Packet::Plain(rest.get(10..10 + length)?.to_vec()))
        }
        VERSION_2_0 => read_version_2(rest, keys),
        _ => None,
    }
}

fn read_version_2(rest: &[u8], keys: Option<&Keys>) -> Option<Packet> {
    let kind = *rest.get(1)?;
    let session = u32::from_le_bytes(rest.get(2..6)?.try_into().ok()?);
    let length = usize::from(u16::from_le_bytes(rest.get(10..12)?.try_into().ok()?));
    let body = rest.get(12..12 + length)?;
    if session == 0 {
        return (kind & (ENCRYPTED | SIGNED) == 0).then(|| Packet::Outside(kind, body.to_vec()));
    }
    let keys = keys.filter(|_| kind == payload::IPMI | ENCRYPTED | SIGNED)?;
    // The payload is followed by padding, its length, the next header, and the integrity code of everything before.
    let end = rest.len().checked_sub(keys.signature_length())?;
    let (signed, signature) = rest.split_at_checked(end)?;
    if !keys.verify(signed, signature) || signed.len() < 12 + length + 2 {
        return None;
    }
    Some(Packet::Inside(session, keys.decrypt(body)?))
}
