//! Validation of object names that become path segments, and generation of names.

pub use crate::schema::names::{
    dns1035_label, dns1123_label, dns1123_subdomain, dns1123_subdomain_with_underscore, label_value,
    qualified_name, validate_annotations, validate_labels,
};

use crate::random::Random;

/// Maximum length of a generated name without its random suffix.
const MAX_GENERATED_BASE: usize = 63 - 5;

/// Returns the problems of a name that becomes a URL path segment, as for RBAC kinds. The list is empty for a valid
/// name.
pub fn path_segment(text: &str) -> Vec<String> {
    if text == "." || text == ".." {
        return vec![format!("may not be '{text}'")];
    }
    path_segment_prefix(text)
}

/// Returns the problems of the beginning of such a name.
pub fn path_segment_prefix(text: &str) -> Vec<String> {
    let forbidden = ['/', '%'].into_iter().filter(|character| text.contains(*character));
    forbidden.map(|character| format!("may not contain '{character}'")).collect()
}

/// Generates a name from `generateName`.
pub fn generate(base: &str, random: &Random) -> String {
    let mut end = base.len().min(MAX_GENERATED_BASE);
    while !base.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{}", &base[..end], random.name_suffix())
}
