//! `kubernetesVersions`: an upgrade goes through them, so no minor version may be missing.

use semver::Version;

use crate::admission::common::Errors;
use crate::admission::versions::{is_later, tolerant};

pub fn versions(versions: &[String], errors: &mut Errors) {
    let mut before: Option<Version> = None;
    for (index, text) in versions.iter().enumerate() {
        // The path is upstream's, without the s at the end.
        let field = format!("spec.kubernetesVersion[{index}]");
        let Some(version) = tolerant(text) else {
            errors.invalid(field, text.as_str(), "must be a semantic version, such as v1.35.0");
            continue;
        };
        if let Some(before) = &before {
            if !is_later(&version, before) {
                errors.invalid(
                    &field,
                    text.as_str(),
                    format!("must be later than v{before}, which is before it"),
                );
            }
            let next = before.minor.saturating_add(1);
            if version.minor != before.minor && version.minor != next {
                let detail =
                    format!("must have the minor version {} or {next}, like the one before it", before.minor);
                errors.invalid(&field, text.as_str(), detail);
            }
        }
        before = Some(version);
    }
}
