//! Runs one of the parsers of `tests/fuzz`, named by `FUZZ_TARGET`, under libFuzzer.

#![no_main]

use std::cell::RefCell;

use fuzz::targets::{Reader, TARGETS};

thread_local! {
    static READER: RefCell<Reader> = RefCell::new({
        let name = std::env::var("FUZZ_TARGET").expect("FUZZ_TARGET names a reader");
        let target = TARGETS.into_iter().find(|target| target.name == name).expect("there is no such reader");
        (target.reader)()
    });
}

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    READER.with_borrow_mut(|read| read(input));
});
