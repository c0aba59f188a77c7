//! Names: what is allowed, and generated ones.

pub use crate::schema::names::{
    dns1035_label, dns1123_label, dns1123_subdomain, dns1123_subdomain_with_underscore, label_value,
    qualified_name, validate_annotations, validate_labels,
};

use crate::random::Random;

/// Characters of a generated name before the random suffix.
const MAX_GENERATED_BASE: usize = 63 - 5;

/// What is wrong with a name that stands in a URL path (RBAC kinds); empty when nothing is.
pub fn path_segment(text: &str) -> Vec<String> {
    if text == "." || text == ".." {
        return vec![format!("may not be '{text}'")];
    }
    path_segment_prefix(text)
}

/// What is wrong with the beginning of a name that becomes a part of paths.
pub fn path_segment_prefix(text: &str) -> Vec<String> {
    let forbidden = ['/', '%'].into_iter().filter(|character| text.contains(*character));
    forbidden.map(|character| format!("may not contain '{character}'")).collect()
}

/// A name from `generateName`.
pub fn generate(base: &str, random: &Random) -> String {
    let mut end = base.len().min(MAX_GENERATED_BASE);
    while !base.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{}", &base[..end], random.name_suffix())
}
