//! Version information, and query parameters.

/// The version that `/version` reports.
#[derive(Debug, Clone)]
pub struct VersionInfo {
    /// The Kubernetes version of the API, for example `v1.36.0+firstlight`.
    pub git_version: String,
    /// The commit that the program was built from.
    pub git_commit: String,
    /// Time of the build, RFC 3339.
    pub build_date: String,
}

impl VersionInfo {
    /// Returns major and minor version, for example `1.36`.
    pub(crate) fn minor(&self) -> String {
        let mut numbers = self.git_version.trim_start_matches('v').split('.');
        let mut next = || numbers.next().unwrap_or_default().to_owned();
        [next(), next()].join(".")
    }
}

impl Default for VersionInfo {
    fn default() -> Self {
        Self {
            git_version: "v1.36.0+firstlight".into(),
            git_commit: String::new(),
            build_date: "1970-01-01T00:00:00Z".into(),
        }
    }
}

/// Returns the first value of a query parameter, decoded.
pub(crate) fn query_value(query: &str, name: &str) -> Option<String> {
    query.split('&').find_map(|pair| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decode(key) == name).then(|| decode(value))
    })
}

/// Decodes percent escapes and `+`; invalid escapes are kept.
pub(crate) fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let escape = text.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        match (bytes[at], escape.and_then(|hex| u8::from_str_radix(hex, 16).ok())) {
            (_, Some(byte)) => {
                plain.push(byte);
                at += 2;
            }
            (b'+', _) => plain.push(b' '),
            (byte, _) => plain.push(byte),
        }
        at += 1;
    }
    String::from_utf8_lossy(&plain).into_owned()
}
