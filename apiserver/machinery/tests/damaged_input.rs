//! The JSON parser accepts exactly the damaged input that `serde_json` accepts, and damaged input causes no panic.

use machinery::random::Random;
use machinery::selector::{FieldSelector, LabelSelector};
use machinery::table::Path;
use machinery::{decode, patch};
use serde_json::Value;

const SEED: u64 = 20_261_121;
const ROUNDS: usize = 20_000;

const TEXTS: [&str; 5] = [
    r#"{"apiVersion":"v1","metadata":{"name":"a","labels":{"x/y":"1"}},"spec":{"n":-1.5e3,"l":[1,true,null,"\n\""]}}"#,
    r#"[{"op":"add","path":"/spec/l/-","value":{"a":[]}},{"op":"move","from":"/spec/n","path":"/metadata/name"}]"#,
    "a=b,c!=d,e in (f,g),!h,i>5,j",
    "metadata.name=a,spec.x!=b\\,c",
    ".status.conditions[?(@.type==\"Ready\")].l[-1:].a['b c']",
];

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
fn json_is_accepted_as_serde_json_accepts_it() {
    let random = Random::seeded(SEED);
    for round in 0..ROUNDS {
        let bytes = damaged(TEXTS[round % 2], &random);
        let text = String::from_utf8(bytes.clone()).unwrap();
        match (decode::json(&bytes), serde_json::from_str::<Value>(&text)) {
            (Ok(ours), Ok(theirs)) => {
                // The parser normalizes numbers, so the other value is normalized before the comparison.
                let theirs = decode::json(theirs.to_string().as_bytes()).unwrap().value;
                assert_eq!(ours.value, theirs, "seed {SEED}, round {round}: {text}");
            }
            (Err(_), Err(_)) => {}
            (ours, theirs) => panic!("seed {SEED}, round {round}: {text}\nours {ours:?}\ntheirs {theirs:?}"),
        }
    }
}

#[test]
fn nothing_panics() {
    let random = Random::seeded(SEED);
    let object: Value = serde_json::from_str(TEXTS[0]).unwrap();
    let schema = machinery::schema::Schema::default();
    for _ in 0..ROUNDS / 10 {
        for text in TEXTS {
            let bytes = damaged(text, &random);
            let text = String::from_utf8_lossy(&bytes);
            let _ = patch::json_patch(&object, &bytes);
            let _ = patch::merge_patch(&object, &bytes);
            let _ = patch::strategic_merge_patch(&object, &bytes, &schema);
            let _ = LabelSelector::parse(&text);
            let _ = FieldSelector::parse(&text);
            if let Ok(path) = Path::parse(&text) {
                let _ = path.find(&object);
            }
        }
    }
    for _ in 0..ROUNDS / 100 {
        let _ = decode::yaml(&damaged(TEXTS[0], &random));
    }
}
