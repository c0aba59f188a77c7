//! The messages of DNS (RFC 1035), as far as the gateway answers them itself. Pure.

use std::net::Ipv4Addr;

use crate::packet::word;

/// The length of a header.
pub const HEADER: usize = 12;
/// The longest part of a name.
const LABEL: usize = 63;
/// The longest name.
const NAME: usize = 255;
/// The type of addresses of IPv4.
pub const A: u16 = 1;
/// The class of the internet.
const INTERNET: u16 = 1;
/// How long an answer may be kept, in seconds: Services come and go.
const LIFE: u32 = 5;
/// The server could not find out.
const SERVER_FAILURE: u8 = 2;
/// The name does not exist.
const NO_SUCH_NAME: u8 = 3;

/// The question of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The name, with dots and without the last one.
    pub name: String,
    is_address: bool,
    /// Where the question ends.
    pub end: usize,
}

impl Question {
    /// Reads a message with one question. Returns `None` for any other message.
    pub fn read(message: &[u8]) -> Option<Self> {
        let is_query = message.get(2)? & 0xf8 == 0;
        if !is_query || word(message, 4)? != 1 {
            return None;
        }
        let (mut at, mut name) = (HEADER, String::new());
        loop {
            let length = usize::from(*message.get(at)?);
            at += 1;
            if length == 0 {
                break;
            }
            // Longer ones would be pointers, which a question has no use for.
            if length > LABEL || name.len() + length > NAME {
                return None;
            }
            let label = message.get(at..at + length)?;
            if !name.is_empty() {
                name.push('.');
            }
            name.push_str(&String::from_utf8_lossy(label));
            at += length;
        }
        let (kind, class) = (word(message, at)?, word(message, at + 2)?);
        let is_address = kind == A && class == INTERNET;
        Some(Self { name, is_address, end: at + 4 })
    }
}

/// Returns the answer with these addresses. Without any, the name does not exist.
pub fn answer(message: &[u8], question: &Question, addresses: &[Ipv4Addr]) -> Vec<u8> {
    let code = if addresses.is_empty() { NO_SUCH_NAME } else { 0 };
    let addresses = if question.is_address { addresses } else { &[] };
    let mut answer = head(message, question, code, addresses.len());
    for address in addresses {
        // A pointer to the name of the question.
        answer.extend_from_slice(&[0xc0, 12]);
        for word in [A, INTERNET] {
            answer.extend_from_slice(&word.to_be_bytes());
        }
        answer.extend_from_slice(&LIFE.to_be_bytes());
        answer.extend_from_slice(&[0, 4]);
        answer.extend_from_slice(&address.octets());
    }
    answer
}

/// Returns the answer that nobody knows.
pub fn failed(message: &[u8], question: &Question) -> Vec<u8> {
    head(message, question, SERVER_FAILURE, 0)
}

fn head(message: &[u8], question: &Question, code: u8, answers: usize) -> Vec<u8> {
    let answers = u16::try_from(answers).unwrap_or_default();
    let mut head = message[..question.end].to_vec();
    // An answer, to a client that may have asked for recursion, which is available.
    head[2] = 0x80 | (message[2] & 0x01);
    head[3] = 0x80 | code;
    head[6..8].copy_from_slice(&answers.to_be_bytes());
    // The additional records of the question are not repeated.
    head[8..HEADER].fill(0);
    head
}
