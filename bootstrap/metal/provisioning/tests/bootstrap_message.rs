//! Tests of `bootstrap::message`.

use metal_provisioning::bootstrap::message::{message, stage};
use metal_provisioning::limits;

#[test]
fn secrets_and_control_characters_are_not_kept() {
    for (text, expected) in [
        ("[certs] Generating \"ca\"\n", "[certs] Generating \"ca\""),
        ("\u{1b}[0;31merror\u{1b}[0m\r\n\n\tat once\u{0}\u{202e}", "error\n at once"),
        ("unfinished \u{1b}[", "unfinished "),
        ("join --token abcdef.0123456789abcdef --x", "join --token [masked] --x"),
        ("token=abcdef.0123456789abcdef", "token=[masked]"),
        ("abcdef.0123456789abcdef,ghijkl.0123456789abcdef", "[masked],[masked]"),
        (
            "xabcdef.0123456789abcdef abcdef.0123456789abcdefx",
            "xabcdef.0123456789abcdef abcdef.0123456789abcdefx",
        ),
        ("kubeadm join --certificate-key 00ff --v 5", "kubeadm join --certificate-key [masked]"),
        ("Certificate-Key: 00ff", "Certificate-Key [masked]"),
        ("using the certificate-key", "using the certificate-key"),
        ("PASSWORD=abc", "PASSWORD [masked]"),
        ("a\n-----BEGIN RSA PRIVATE KEY-----\nMII\nabc=\n-----END RSA PRIVATE KEY-----\nb", "a\n[masked]\nb"),
        ("a\n-----BEGIN PRIVATE KEY-----\nMII", "a\n[masked]"),
        ("MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj\n-----END PRIVATE KEY-----", "[masked]"),
        (
            "sha256:0011223344556677889900112233445566778899",
            "sha256:0011223344556677889900112233445566778899",
        ),
        ("ä: größer", "ä: größer"),
    ] {
        assert_eq!(message(text), expected, "{text:?}");
    }
}

#[test]
fn the_last_lines_are_kept() {
    for more in [-1_i64, 0, 1] {
        let count = limits::BOOTSTRAP_LINES as i64 + more;
        let lines: Vec<String> = (0..count).map(|line| format!("line {line}")).collect();
        let kept = message(&lines.join("\n"));
        assert_eq!(kept.lines().count() as i64, count.min(limits::BOOTSTRAP_LINES as i64));
        assert!(kept.ends_with(&format!("line {}", count - 1)), "{kept}");
        let length = limits::BOOTSTRAP_MESSAGE as i64 + more;
        let text = "ä ".repeat(length as usize / 2) + &"é".repeat(length as usize % 2);
        let kept = message(&text);
        assert_eq!(kept.chars().count() as i64, length.min(limits::BOOTSTRAP_MESSAGE as i64));
    }
    for (length, expected) in
        [(limits::WORD - 1, limits::WORD - 1), (limits::WORD, limits::WORD), (limits::WORD + 1, limits::WORD)]
    {
        assert_eq!(stage(&"ä".repeat(length)).chars().count(), expected);
    }
}
