//! Tests of `takeover::providers::figures`.

use takeover::providers::figures::{Memory, of, parse};

#[test]
fn the_kernels_figures_are_read() {
    let text =
        "00400000-7fff rollup\nRss:  3000 kB\nPss: 10 kB\nPrivate_Clean:  4 kB\nPrivate_Dirty:  200 kB\n";
    assert_eq!(parse(text), Memory { resident: 3000, private: 204, processes: 1 });
    assert!(of(std::process::id()).unwrap().resident > 0);
}
