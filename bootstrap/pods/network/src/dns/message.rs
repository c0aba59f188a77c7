//! The messages of DNS (RFC 1035), as far as the gateway answers them itself. Pure.

use std::net::Ipv4Addr;

use crate::packet::word;

const HEADER: usize = 12;
/// The longest part of a name.
const LABEL: usize = 63;
/// The longest name.
const NAME: usize = 255;
/// The type of addresses of IPv4.
const A: u16 = 1;
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
pub(crate) struct Question {
    /// The name, with dots and without the last one.
    pub(crate) name: String,
    is_address: bool,
    /// Where the question ends.
    end: usize,
}

impl Question {
    /// Reads a message with one question. Returns `None` for any other message.
    pub(crate) fn read(message: &[u8]) -> Option<Self> {
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
pub(crate) fn answer(message: &[u8], question: &Question, addresses: &[Ipv4Addr]) -> Vec<u8> {
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
pub(crate) fn failed(message: &[u8], question: &Question) -> Vec<u8> {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn query(name: &str, kind: u16) -> Vec<u8> {
        let mut message = vec![0xab, 0xcd, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1];
        for label in name.split('.') {
            message.push(u8::try_from(label.len()).unwrap());
            message.extend_from_slice(label.as_bytes());
        }
        message.push(0);
        message.extend_from_slice(&kind.to_be_bytes());
        message.extend_from_slice(&[0, 1]);
        // An additional record, as most clients send one.
        message.extend_from_slice(&[0, 0, 41, 2, 0, 0, 0, 0, 0, 0, 0]);
        message
    }

    #[test]
    fn an_address_is_answered() {
        let message = query("hook.capi.svc", A);
        let question = Question::read(&message).unwrap();
        assert_eq!(question.name, "hook.capi.svc");
        let found = answer(&message, &question, &[Ipv4Addr::new(198, 19, 1, 0)]);
        assert_eq!(found[..12], [0xab, 0xcd, 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0]);
        assert_eq!(found[12..question.end], message[12..question.end]);
        assert_eq!(found[question.end..], [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 5, 0, 4, 198, 19, 1, 0]);
    }

    #[test]
    fn a_question_without_its_class_is_none() {
        for kind in [A, 28] {
            let mut message = query("hook", kind);
            message.truncate(HEADER + 6 + 2);
            assert_eq!(Question::read(&message), None);
        }
    }

    #[test]
    fn what_is_not_there_is_said_so() {
        let message = query("hook.capi.svc", 28);
        let question = Question::read(&message).unwrap();
        let found = answer(&message, &question, &[Ipv4Addr::LOCALHOST]);
        assert_eq!((found[3], found.len()), (0x80, question.end), "no address of IPv6, but the name exists");
        assert_eq!(answer(&message, &question, &[])[3], 0x83);
        assert_eq!(failed(&message, &question)[3], 0x82);
    }

    #[test]
    fn what_is_no_question() {
        let good = query("a.svc", A);
        for (at, value, what) in
            [(2, 0x81, "an answer"), (5, 2, "two questions"), (12, 0xc0, "a pointer"), (2, 0x28, "an update")]
        {
            let mut message = good.clone();
            message[at] = value;
            assert_eq!(Question::read(&message), None, "{what}");
        }
        assert_eq!(Question::read(&good[..20]), None);
        let long = query(&["a"; 130].join("."), A);
        assert_eq!(Question::read(&long), None, "a long name");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(mut bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            if bytes.len() > 6 {
                (bytes[2], bytes[4], bytes[5]) = (1, 0, 1);
            }
            if let Some(question) = Question::read(&bytes) {
                answer(&bytes, &question, &[Ipv4Addr::LOCALHOST]);
            }
        }
    }
}
