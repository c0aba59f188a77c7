//! Rust names for JSON names.

/// Names whose words cannot be determined from upper and lower case.
const EXCEPTIONS: [(&str, &str); 4] = [
    ("openAPIV3Schema", "open_api_v3_schema"),
    ("certSANs", "cert_sans"),
    ("serverCertSANs", "server_cert_sans"),
    ("peerCertSANs", "peer_cert_sans"),
];

/// Reserved words of Rust.
const KEYWORDS: [&str; 4] = ["type", "enum", "ref", "match"];

/// Converts to snake case, for example `providerIDList` to `provider_id_list`. A reserved word gets a
/// trailing underscore.
pub fn field(json: &str) -> String {
    if let Some((_, name)) = EXCEPTIONS.iter().find(|(from, _)| *from == json) {
        return (*name).to_owned();
    }
    let letters: Vec<char> = json.chars().collect();
    let mut name = String::new();
    for (index, letter) in letters.iter().enumerate() {
        if *letter == '-' || *letter == '$' {
            name.push('_');
            continue;
        }
        let before = index.checked_sub(1).and_then(|index| letters.get(index));
        let after = letters.get(index + 1);
        let word_begins = letter.is_uppercase()
            && before.is_some_and(|before| {
                before.is_lowercase()
                    || before.is_ascii_digit()
                    || (before.is_uppercase() && after.is_some_and(|after| after.is_lowercase()))
            });
        if word_begins {
            name.push('_');
        }
        name.extend(letter.to_lowercase());
    }
    if KEYWORDS.contains(&name.as_str()) {
        name.push('_');
    }
    name
}
