//! Tests of `pod_network::dns::message`.

use std::net::Ipv4Addr;

use pod_network::dns::message::{A, HEADER, Question, answer, failed};
use proptest::prelude::*;

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
