//! Tests of `images::program`.

use std::collections::BTreeSet;
use std::path::PathBuf;

use metal_boot::images::program::{libraries, loader};

#[test]
fn libraries_of_a_memory_map() {
    let maps = "7f00-7f01 r--p 00000000 08:01 42   /usr/lib/x/libc.so.6\n\
                7f01-7f02 r-xp 00001000 08:01 42   /usr/lib/x/libc.so.6\n\
                7f02-7f03 r--p 00000000 08:01 43   /usr/bin/firstlight\n\
                7f03-7f04 rw-p 00000000 00:00 0    [heap]\n\
                7f04-7f05 r--p 00000000 08:01 44   /usr/lib/x/libgone.so.1 (deleted)\n\
                7f05-7f06 r--p 00000000 08:01 45   /lib64/ld-linux.so.2\n";
    let expected = ["/lib64/ld-linux.so.2", "/usr/lib/x/libc.so.6"].map(PathBuf::from);
    assert_eq!(libraries(maps), BTreeSet::from(expected));
}

#[test]
fn no_program_has_a_loader_by_accident() {
    let this = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    let found = loader(&this);
    for length in (0..4096).step_by(7) {
        // A truncated program has the same loader or none.
        let cut = loader(&this[..length]);
        assert!(cut.is_none() || cut == found);
    }
    assert_eq!(loader(b"#!/bin/sh\n"), None);
}
