//! Tests of `tpm`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::io::{Read, Write};

use agent::testing::{Tpm, answer};
use agent::tpm::{Binding, EndorsementKey, Message};

/// A TPM that returns the given answers, and records the commands.
struct Recorded {
    answers: Vec<Vec<u8>>,
    asked: Vec<Vec<u8>>,
}

impl Read for Recorded {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let said = self.answers.remove(0);
        buffer[..said.len()].copy_from_slice(&said);
        Ok(said.len())
    }
}

impl Write for Recorded {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.asked.push(bytes.to_vec());
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn key() -> EndorsementKey {
    let mut public = EndorsementKey::template();
    let at = public.len() - 66;
    public[at..at + 32].fill(7);
    EndorsementKey::read(&public).unwrap()
}

fn said(tag: u16, code: u32, body: &[u8]) -> Vec<u8> {
    let length = 10 + body.len() as u32;
    Message::default().u16(tag).u32(length).u32(code).bytes(body).into_bytes()
}

#[test]
fn the_key_is_made_of_the_standard_template() {
    let public = Message::default().sized(&key().public()).into_bytes();
    let body = Message::default().u32(0x8000_0001).u32(public.len() as u32).bytes(&public).bytes(&[0; 5]);
    let mut tpm = Recorded {
        answers: vec![said(0x8002, 0, &body.into_bytes()), said(0x8001, 0, &[])],
        asked: Vec::new(),
    };
    assert_eq!(Tpm::new(&mut tpm).endorsement_key().unwrap(), key());
    let [made, flushed] = tpm.asked.as_slice() else { panic!("{:?}", tpm.asked) };
    assert_eq!(made[..18], [0x80, 2, 0, 0, 0, 0xa3, 0, 0, 1, 0x31, 0x40, 0, 0, 0x0b, 0, 0, 0, 9]);
    assert_eq!(made.len(), 0xa3);
    assert_eq!(flushed[10..], [0x80, 0, 0, 1]);
}

#[test]
fn a_tpm_that_refuses_or_babbles_is_an_error() {
    let short = said(0x8002, 0, &[0x80]);
    let other = Message::default().u32(1).u32(2 + 90).sized(&[0; 90]).into_bytes();
    let cases = [
        (said(0x8001, 0x101, &[]), "code 0x101"),
        (short, "too short"),
        (Vec::new(), "too short"),
        (said(0x8002, 0, &other), "not the standard endorsement key"),
        (said(0x8001, 0, &[0; 20])[..12].to_vec(), "says 30"),
    ];
    for (answer, expected) in cases {
        let mut tpm = Tpm::new(Recorded { answers: vec![answer], asked: Vec::new() });
        let error = format!("{:#}", tpm.endorsement_key().unwrap_err());
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn what_a_challenge_is_bound_to_is_another_thing_for_each_certificate() {
    let names: Vec<Vec<u8>> = [[1; 32], [2; 32]].map(|sum| Binding::new(sum).name()).to_vec();
    assert!(names[0] != names[1] && names.iter().all(|name| name.len() == 34));
}

proptest::proptest! {
    #[test]
    fn readers_do_not_panic(bytes: Vec<u8>) {
        let _ = EndorsementKey::read(&bytes);
        let _ = answer(&bytes, 1).map(|(_, mut reader)| reader.sized().is_ok());
    }
}
