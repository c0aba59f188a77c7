//! Patterns that Go accepts and refuses.

use machinery::pattern::parse;

fn error(pattern: &str) -> Option<String> {
    parse(pattern).err().map(|error| error.to_string())
}

#[test]
fn what_go_accepts() {
    for pattern in [
        "",
        "a{1000}",
        "(a{10}){100}",
        "a{,3}",
        "(?<n>a)",
        "\\p{Greek}",
        "^*",
        "$+",
        "()*",
        "a+?",
        "a{0}",
        "\\Q*\\E*",
        "\\Qa",
        "\\07",
        "\\x{41}",
        "\\pN",
        "[[:alpha:]]",
        "x{2}{",
        "\\_",
        "é*",
        "a{2,1000}",
        "[\\d-z]",
        "[]a]",
        "[^]a]",
        "[a-]",
        "(?i)a",
        "(?i-s:a)b",
        "a|b",
        "[+-]",
        "[\\w.-]+",
        "^[\\w-_]+$",
        "[\\w-.:/]",
        "[\\p{L}-z]",
        "\\p{^L}",
        "\\p{^Greek}",
        "\\p{lowercase letter}",
        "\\p{_greek}",
        "[[:^alpha:]]",
        "[--a]",
        "[!--]",
        "[a&&b]",
        "{",
        "a{",
        "a{x}",
        "a{01}",
        "\\0",
        "\\101",
        "[\\x{d800}-\\x{dfff}]",
        "(?)",
        "(?i)",
        "a(?i)*",
        "a\\Q\\E*",
        "a{0,}",
        "((a{1000}){0}){1000}",
    ] {
        assert_eq!(error(pattern), None, "{pattern}");
    }
}

#[test]
fn what_go_refuses() {
    for (pattern, wanted) in [
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("a{1001,}", "invalid repeat count: `{1001,}`"),
        ("(a{100}){100}", "invalid repeat count: `{100}`"),
        ("(a{2}|b{600}){2}", "invalid repeat count: `{2}`"),
        ("a{2,1}", "invalid repeat count: `{2,1}`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("a{2}{3}", "invalid nested repetition operator: `{2}{3}`"),
        ("a{2}?{3}", "invalid nested repetition operator: `{2}?{3}`"),
        ("*a", "missing argument to repetition operator: `*`"),
        ("a|*", "missing argument to repetition operator: `*`"),
        ("{2}", "missing argument to repetition operator: `{2}`"),
        ("(?i)*", "missing argument to repetition operator: `*`"),
        ("(", "missing closing ): `(`"),
        ("a)", "unexpected ): `a)`"),
        ("[b-a]", "invalid character class range: `b-a`"),
        ("[", "missing closing ]: `[`"),
        ("x[a-z", "missing closing ]: `[a-z`"),
        ("[a\\]", "missing closing ]: `[a\\]`"),
        ("[^]", "missing closing ]: `[^]`"),
        ("[[:foo:]]", "invalid character class range: `[:foo:]`"),
        ("[a-\\d]", "invalid escape sequence: `\\d`"),
        ("\\8", "invalid escape sequence: `\\8`"),
        ("\\1", "invalid escape sequence: `\\1`"),
        ("\\Z", "invalid escape sequence: `\\Z`"),
        ("\\xg", "invalid escape sequence: `\\xg`"),
        ("\\x4", "invalid escape sequence: `\\x4`"),
        ("\\pX", "invalid character class range: `\\pX`"),
        ("\\p{Script=Greek}", "invalid character class range: `\\p{Script=Greek}`"),
        ("\\p{IsGreek}", "invalid character class range: `\\p{IsGreek}`"),
        ("\\p{Old_Italic}", "invalid character class range: `\\p{Old_Italic}`"),
        ("\\p", "invalid character class range: `\\p`"),
        ("\\p{}", "invalid character class range: `\\p{}`"),
        ("\\C", "invalid escape sequence: `\\C`"),
        ("[\\Qa\\E]", "invalid escape sequence: `\\Q`"),
        ("[\\b]", "invalid escape sequence: `\\b`"),
        ("\\x{110000}", "invalid escape sequence: `\\x{110000`"),
        ("\\x{}", "invalid escape sequence: `\\x{}`"),
        ("(?P<", "invalid or unsupported Perl syntax: `(?P`"),
        ("(?-)a", "invalid or unsupported Perl syntax: `(?-)`"),
        ("(?x)a", "invalid or unsupported Perl syntax: `(?x`"),
        ("a{1000}{2}", "invalid nested repetition operator: `{1000}{2}`"),
        ("\\p{N", "invalid character class range: `\\p{N`"),
        ("\\", "trailing backslash at end of expression: ``"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        ("a(?!b)", "invalid or unsupported Perl syntax: `(?!`"),
        ("(?P=n)", "invalid or unsupported Perl syntax: `(?P`"),
        ("(?i", "invalid or unsupported Perl syntax: `(?i`"),
        ("(?i-)a", "invalid or unsupported Perl syntax: `(?i-)`"),
        ("(?P<>a)", "invalid named capture: `(?P<>`"),
        ("(?<=a)b", "invalid named capture: `(?<=a)b`"),
    ] {
        assert_eq!(error(pattern).as_deref(), Some(wanted), "{pattern}");
    }
}

/// The limits are those of Go.
#[test]
fn limits() {
    let nested = |levels: usize| format!("{}a{}", "(".repeat(levels), ")".repeat(levels));
    assert_eq!(error(&nested(999)), None);
    assert_eq!(error(&nested(1000)), Some(format!("expression nests too deeply: `{}`", nested(1000))));
    assert_eq!(
        error(&format!("{}a{}", "(?:".repeat(5000), ")".repeat(5000))),
        None,
        "without a level of the tree"
    );
    let large = format!("(?:{}){{1000}}", "ab*".repeat(2000));
    assert_eq!(error(&large), Some(format!("expression too large: `{large}`")));
    assert_eq!(error(&"(".repeat(100_000)), Some(format!("missing closing ): `{}`", "(".repeat(100_000))));
}
