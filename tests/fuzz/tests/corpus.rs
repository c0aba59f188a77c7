//! Every input that is kept is read, and what must hold of the answer holds.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use fuzz::corpus;
use fuzz::targets::TARGETS;

#[test]
fn the_corpus_is_read() {
    for target in TARGETS {
        let inputs = corpus::read(target.name);
        assert!(inputs.len() >= 3, "{} has no corpus", target.name);
        let mut read = (target.reader)();
        for (_, input) in inputs {
            read(&input);
        }
    }
}
