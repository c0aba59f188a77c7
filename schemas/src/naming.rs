//! Names made from templates (`machineNaming.template`) and names as label values.

/// What a naming template can be filled with, by the path after the dot: `cluster.name`, `random`.
pub type Values<'a> = [(&'a str, &'a str)];

/// Fills in a naming template such as `{{ .machineSet.name }}-{{ .random }}`.
///
/// Of Go's template language, paths are understood, with blanks and `-` trim marks; nothing else.
///
/// # Errors
/// A sentence that says which part is not understood.
pub fn render(template: &str, values: &Values<'_>) -> Result<String, String> {
    let mut name = String::new();
    let mut rest = template;
    while let Some(begin) = rest.find("{{") {
        let (before, inside) = (&rest[..begin], &rest[begin + 2..]);
        let Some(end) = inside.find("}}") else {
            return Err(format!("`{{{{` without `}}}}` in {template:?}"));
        };
        let (mut action, mut after) = (&inside[..end], &inside[end + 2..]);
        name.push_str(before);
        if let Some(trimmed) = action.strip_prefix("- ") {
            name.truncate(name.trim_end().len());
            action = trimmed;
        }
        if let Some(trimmed) = action.strip_suffix(" -") {
            after = after.trim_start();
            action = trimmed;
        }
        let path = action.trim().strip_prefix('.');
        let value = path.and_then(|path| values.iter().find(|(known, _)| *known == path));
        match value {
            Some((_, value)) => name.push_str(value),
            None => {
                let known: Vec<String> = values.iter().map(|(known, _)| format!(".{known}")).collect();
                return Err(format!("{:?} is none of {}", action.trim(), known.join(", ")));
            }
        }
        rest = after;
    }
    name.push_str(rest);
    Ok(name)
}

/// A name as the value of a label: itself when it is one, else a hash of it.
///
/// The form of the hash is upstream's, so that objects keep their labels when they move.
pub fn label_value(name: &str) -> String {
    if machinery::names::label_value(name).is_empty() {
        return name.to_owned();
    }
    let hash = fnv1a(name.as_bytes());
    format!("hash_{}_z", base64_url(&hash.to_be_bytes()))
}

/// The 32-bit FNV-1a hash.
fn fnv1a(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

/// Base64 for URLs, without padding.
fn base64_url(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let group = chunk.iter().fold(0_u32, |group, byte| group << 8 | u32::from(*byte));
        let group = group << (8 * (3 - chunk.len()));
        for place in 0..=chunk.len() {
            let index = (group >> (18 - 6 * place)) & 63;
            text.push(char::from(LETTERS[index as usize]));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renders_paths() {
        let values: &Values<'_> = &[("machineSet.name", "md-abc"), ("random", "x7k2p")];
        for (template, expected) in [
            ("{{ .machineSet.name }}-{{ .random }}", Ok("md-abc-x7k2p")),
            ("{{.machineSet.name}}-{{.random}}", Ok("md-abc-x7k2p")),
            ("a {{- .random -}} b", Ok("ax7k2pb")),
            ("fixed", Ok("fixed")),
            ("{{ .other }}", Err(())),
            ("{{ .random | upper }}", Err(())),
            ("{{ .random", Err(())),
            ("{{", Err(())),
            ("", Ok("")),
        ] {
            assert_eq!(render(template, values).map_err(|_| ()), expected.map(str::to_owned), "{template}");
        }
    }

    #[test]
    fn hashes_names_that_are_no_label_values() {
        assert_eq!(label_value("short"), "short");
        assert_eq!(fnv1a(b"foobar"), 0xbf9c_f968);
        let long = label_value(&"long".repeat(20));
        assert!(long.starts_with("hash_") && long.ends_with("_z") && long.len() == 13, "{long}");
        assert_eq!(base64_url(&[0xff, 0xfe, 0xfd, 0x00]), "__79AA");
        assert_eq!(base64_url(b"any carnal pleas"), "YW55IGNhcm5hbCBwbGVhcw");
    }
}
