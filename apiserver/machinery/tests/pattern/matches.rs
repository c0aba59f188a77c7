//! What patterns match, as in Go.

use machinery::limits::MAX_PATTERN_SIZE;
use machinery::pattern::compile;

#[test]
fn patterns_of_go() {
    for (pattern, text, expected) in [
        (r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$", "NotAvailable", true),
        (r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$", "Not-Available", false),
        (r"^[[:alpha:]_]+[0-9]$", "a_1", true),
        (r"^[[:alpha:]_]+[0-9]$", "[1", false),
        (r"^[a[]b$", "[b", true),
        (r"^[]a]+$", "]a", true),
        (r"^[^]a]+$", "b]", false),
        (r"^[\d:]+x[\w]$", "1:xy", true),
        (r"^\d$", "٣", false),
        // A hyphen next to a class is a character, and so is what other dialects read as operators.
        (r"^[\w-_]+$", "my-name", true),
        (r"^[\s-x]+$", "ANYTHING(1)", false),
        (r"^[\s-x]+$", "x - x", true),
        (r"^[\w-\.]+@([\w-]+\.)+[\w-]{2,4}$", "a.b-c@d-e.org", true),
        (r"^[a&&b]+$", "a&b", true),
        (r"^[a~~b]+$", "~", true),
        (r"^[!--]+$", "%+", true),
        (r"^[a-c--b]+$", "-", true),
        (r"^[[a]]$", "a]", true),
        (r"^a{,3}$", "a{,3}", true),
        (r"^\101\x42\x{43}$", "ABC", true),
        (r"^\Q.+\E+$", ".++", true),
        // Words are those of ASCII.
        (r"\B", "é", true),
        (r"\b", "é", false),
        (r"é\b", "éa", true),
        (r"x|\d\pL|\B", "s?9日B", true),
        (r"x|\B", "9日B", false),
        (r"^\W$", "é", true),
        // Letters that differ in case only. The Kelvin sign is a k, and İ is no i.
        (r"(?i)^k$", "\u{212a}", true),
        (r"(?i)^[a-z]$", "\u{17f}", true),
        (r"(?i)^[^k]$", "\u{212a}", false),
        (r"(?i)^\w$", "\u{212a}", true),
        (r"(?i)^\x{130}$", "i", false),
        (r"(?i)^\p{Lu}$", "a", true),
        (r"(?i)^[[:upper:]]$", "a", true),
        (r"(?i)^σ$", "ς", true),
        (r"(?i)^\x{fb05}$", "\u{fb06}", false),
        (r"a$", "a\n", false),
        (r"(?m)^a$", "b\na\n", true),
        (r"a.b", "a\nb", false),
        (r"(?s)a.b", "a\nb", true),
        (r"[^a]", "\n", true),
        // Unicode as Go knows it, which is not the newest.
        (r"^\p{L}$", "\u{10d50}", false),
        (r"^\p{Cn}$", "\u{10d50}", true),
        (r"^\pN+$", "1٣", true),
        (r"^\p{^Greek}$", "α", false),
        (r"^\PN$", "1", false),
    ] {
        assert_eq!(compile(pattern).unwrap().is_match(text), expected, "{pattern} on {text}");
    }
}

/// Where the matches are, with and without greed.
#[test]
fn places() {
    for (pattern, text, expected) in [
        (r"a*", "baac", vec![0..0, 1..3, 4..4]),
        (r"(?U)a+", "aa", vec![0..1, 1..2]),
        (r"(?U)a+?", "aaéaa", vec![0..2, 4..6]),
        (r"", "é", vec![0..0, 2..2]),
        (r"\B", "é", vec![0..0, 2..2]),
        (r"a|ab", "abab", vec![0..1, 2..3]),
        (r"[\p{L}]{1,1000}", "éa-ü", vec![0..3, 4..6]),
    ] {
        let pattern = compile(pattern).unwrap();
        assert_eq!(pattern.search(text).collect::<Vec<_>>(), expected, "{pattern:?} on {text}");
    }
    let pattern = compile(r"(?P<first>\p{L}{1,900})-(x)?(\p{N})").unwrap();
    let mut search = pattern.search("é-١");
    assert_eq!(search.next(), Some(0..5));
    assert_eq!([1, 2, 3].map(|group| search.group(group)), [Some(0..2), None, Some(3..5)]);
    assert_eq!(pattern.names()[1].as_deref(), Some("first"));
}

/// Repeated classes of Unicode take as little memory as repeated letters, also if the pattern knows words and lines.
#[test]
fn memory() {
    for pattern in [
        r"[\p{L}]{1,1000}",
        r"([\p{L}\p{N}]{1,253})",
        r"(?mi)^[a-zA-Z0-9\p{S}\p{L}]{0,1000}\b$",
        r"(\PN{0,10}x\p{Greek}?){100}",
    ] {
        let compiled = compile(pattern).unwrap();
        assert!(compiled.memory() < 4 << 20, "{pattern}: {}", compiled.memory());
    }
    let large = compile(&"[a-z]{1000}-".repeat(400)).unwrap();
    assert!(large.memory() < 64 << 20, "{}", large.memory());
    let words: String =
        (0x4e00..0x4f00).filter_map(char::from_u32).map(|c| format!("{c}[à-ž]{{1,9}}|")).collect();
    assert!(compile(&words).unwrap().is_match("一é"), "more different characters than bytes");
}

#[test]
fn size() {
    let size = |times: usize| compile(&format!("(?:{})", "a{1000}".repeat(times))).map(|_| ());
    let most = usize::try_from(MAX_PATTERN_SIZE / 1000).unwrap();
    assert_eq!(size(most - 1).err(), None);
    assert!(size(most + 1).unwrap_err().to_string().starts_with("expression too large: `(?:a{1000}"));
}
