//! Runs all inputs of the corpus through their targets.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test may panic")]

use fuzz::corpus;
use fuzz::targets::TARGETS;
use machinery::random::Random;

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

/// Runs some inputs of every grammar, on half of a thread's stack.
#[test]
fn grammars_are_read() {
    let seed = Random::system().number();
    println!("seed {seed}");
    let read = move || {
        for target in TARGETS {
            let Some(grammar) = target.grammar else { continue };
            let (random, mut read) = (Random::seeded(seed), (target.reader)());
            for _ in 0..40 {
                read(grammar(&random).as_bytes());
            }
        }
    };
    std::thread::Builder::new().stack_size(1 << 20).spawn(read).unwrap().join().unwrap();
}
