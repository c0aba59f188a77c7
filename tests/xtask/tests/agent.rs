//! Tests of `xtask::agent`.

use xtask::agent::{PT_INTERP, is_static};

#[test]
fn a_program_with_a_loader_is_not_static() {
    let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    let has_loader = !cfg!(target_feature = "crt-static");
    assert_eq!(is_static(&own), !has_loader);
    let table = u64::from_le_bytes(own[32..40].try_into().unwrap()) as usize;
    let size = usize::from(u16::from_le_bytes([own[54], own[55]]));
    let count = usize::from(u16::from_le_bytes([own[56], own[57]]));
    let mut without = own.clone();
    for index in 0..count {
        let kind = &mut without[table + index * size..][..4];
        if kind == PT_INTERP.to_le_bytes() {
            kind.fill(0);
        }
    }
    assert!(is_static(&without));
    assert!(!is_static(b"#!/bin/sh\n") && !is_static(&own[..60]) && !is_static(&[]));
}
