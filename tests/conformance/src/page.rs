//! Writes docs/conformance.md, the page about the conformance of the server.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::known::Known;

const HEAD: &str = "# Conformance\n
How close the API server is to kube-apiserver 1.36: recorded requests are replayed, and code, headers, warnings and every field of the
answer are compared with the real server's. `cargo xtask test conformance` runs them; it fails when a case fails that is not listed here, or
passes although it is listed. `cargo run -p firstlight-conformance -- TOPIC|CASE...` shows each difference. The page is written by
`UPDATE_EXPECT=1 cargo xtask test conformance` from `tests/conformance/known-failures.txt` and `clients.md`.\n\n";

/// The part about clients, and the tests that cover them.
pub const CLIENTS: &str = include_str!("../clients.md");

/// Returns the path of the page.
pub fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/conformance.md")
}

/// Returns the topic of a case.
pub fn topic(case: &str) -> &str {
    case.split('/').next().unwrap_or_default()
}

/// Returns the page for these topics (with the number of cases) and failures.
pub fn write(topics: &BTreeMap<String, usize>, known: &Known) -> String {
    let mut page = HEAD.to_owned();
    page.push_str("| topic | passed | cases |\n|---|---|---|\n");
    let (mut passed_sum, mut total_sum) = (0, 0);
    for (name, total) in topics {
        let failed = known.keys().filter(|case| topic(case) == name).count();
        let passed = total - failed.min(*total);
        page.push_str(&format!("| {name} | {passed} | {total} |\n"));
        passed_sum += passed;
        total_sum += total;
    }
    page.push_str(&format!("| all | {passed_sum} | {total_sum} |\n\n## What differs\n\n"));
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (case, reason) in known {
        reasons.entry(reason).or_default().push(case);
    }
    for (reason, cases) in reasons {
        page.push_str(&format!("{reason} ({}):\n", cases.len()));
        for case in cases {
            page.push_str(&format!("- `{case}`\n"));
        }
        page.push('\n');
    }
    page.push_str(CLIENTS);
    page
}
