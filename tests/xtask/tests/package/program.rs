//! Tests of `xtask::package::program`.

use std::path::PathBuf;

use xtask::package::program::{Program, glibc, packages};

const HEADERS: &str = "\
Dynamic Section:
  NEEDED               libgcc_s.so.1
  NEEDED               libc.so.6
  FLAGS_1              0x0000000008000001

Version References:
  required from libgcc_s.so.1:
    0x09276060 0x00 03 GCC_4.2.0
  required from libc.so.6:
    0x0d696917 0x00 07 GLIBC_2.7
    0x069691b4 0x00 05 GLIBC_2.34
    0x09691a75 0x00 04 GLIBC_2.2.5
";

#[test]
fn a_program_says_what_it_needs() {
    assert_eq!(glibc(HEADERS).unwrap(), (2, 34));
    let program = Program {
        path: PathBuf::new(),
        version: String::new(),
        glibc: Some((2, 34)),
        packages: packages(HEADERS).unwrap(),
    };
    assert_eq!(program.depends(), "libc6 (>= 2.34), libgcc-s1");
    let error = packages("  NEEDED    libssl.so.3\n").unwrap_err().to_string();
    assert!(error.contains("libssl.so.3"), "{error}");
}
