//! Tests that damaged protobuf bodies never cause a panic.

use kinds::protobuf;
use machinery::random::Random;

const SEED: u64 = 20_261_121;

/// Returns `text` with one to three bytes changed, removed or added.
fn damaged(text: &str, random: &Random) -> Vec<u8> {
    let alphabet = b"{}[]\",:=!()<>?@.\\/ \n-+0159eEtfnulrsab$*'";
    let mut bytes = text.as_bytes().to_vec();
    let draw = |limit: usize| usize::try_from(random.number() % u64::try_from(limit).unwrap()).unwrap();
    for _ in 0..=draw(3) {
        let at = draw(bytes.len());
        let byte = alphabet[draw(alphabet.len())];
        match draw(3) {
            0 => bytes[at] = byte,
            1 => bytes.insert(at, byte),
            _ => drop(bytes.remove(at)),
        }
    }
    bytes
}

#[test]
fn nothing_panics() {
    let random = Random::seeded(SEED);
    let text = r#"{"apiVersion":"v1","metadata":{"name":"a","labels":{"x/y":"1"}},"spec":{"n":-1.5e3,"l":[1,true,null,"\n\""]}}"#;
    for _ in 0..10_000 {
        let bytes = damaged(text, &random);
        let _ = protobuf::decode(&[b"k8s\0", bytes.as_slice()].concat(), Some(("v1", "Event")));
    }
}
