//! Sizes of patterns.

use machinery::pattern::size;

#[test]
fn repetitions_multiply() {
    for (pattern, wanted) in [
        ("", 0),
        ("abc", 3),
        ("a{3}", 3),
        ("a{3,}", 3),
        ("a{2,5}b", 6),
        ("(ab){10}", 20),
        ("((a{10}){10}){10}", 1000),
        ("(a|(b{4}))c{2}", 8),
        ("a{b}", 4),
        (".{100}", 1200),
        ("\\p{L}{10}", 8000),
        ("\\pL[\\PN]{2}", 2402),
        ("[a-z]{10}", 40),
        ("x{99999999999999999999999999}", 29),
    ] {
        assert_eq!(size(pattern), wanted, "{pattern}");
    }
    assert!(size(&"(".repeat(100_000)) < 10);
}
