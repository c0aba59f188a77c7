//! The index of the kernel modules in an initramfs: the server writes it, and the agent loads modules by it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// The path of the index in the initramfs.
pub const INDEX: &str = "/etc/firstlight/modules.json";
/// The folder of the modules in the initramfs.
pub const FOLDER: &str = "/lib/modules";

/// The index of the modules in an initramfs.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
pub struct Index {
    /// All modules, including the dependencies of others.
    pub modules: Vec<Module>,
}

/// A kernel module, as its section `.modinfo` describes it.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
pub struct Module {
    /// The name, with underscores.
    pub name: String,
    /// The file below [`FOLDER`].
    pub path: String,
    /// The names of modules that must be loaded before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends: Vec<String>,
    /// The patterns of the devices (`MODALIAS`) that it drives.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
}

impl Index {
    /// Returns the module `name` after all its dependencies, in load order; empty if the module is unknown.
    pub fn order(&self, name: &str) -> Vec<&Module> {
        let known: BTreeMap<&str, &Module> = self.modules.iter().map(|m| (m.name.as_str(), m)).collect();
        let (mut order, mut seen) = (Vec::new(), BTreeSet::new());
        visit(&known, &plain_name(name), &mut seen, &mut order);
        order
    }

    /// Returns the names of the modules that drive a device with this `MODALIAS`.
    pub fn wanted(&self, modalias: &str) -> Vec<&str> {
        let drives = |module: &&Module| module.aliases.iter().any(|pattern| matches(pattern, modalias));
        self.modules.iter().filter(drives).map(|module| module.name.as_str()).collect()
    }
}

fn visit<'a>(
    known: &BTreeMap<&str, &'a Module>,
    name: &str,
    seen: &mut BTreeSet<String>,
    order: &mut Vec<&'a Module>,
) {
    let Some(module) = known.get(name) else { return };
    if !seen.insert(name.to_owned()) {
        return;
    }
    for dependency in &module.depends {
        visit(known, &plain_name(dependency), seen, order);
    }
    order.push(module);
}

/// Returns the name with underscores: the kernel treats dashes and underscores as equal.
pub fn plain_name(name: &str) -> String {
    name.replace('-', "_")
}

/// Returns whether a pattern of the kernel (`*`, `?`, `[a-z]`) matches the whole of `text`.
pub fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut at, mut from) = (0, 0);
    // The positions at which to retry if the text behind the last star does not match.
    let mut star: Option<(usize, usize)> = None;
    while from < text.len() {
        match one(pattern, at, text[from]) {
            Step::Next(next) => (at, from) = (next, from + 1),
            Step::Star => {
                star = Some((at + 1, from));
                at += 1;
            }
            Step::No => match star {
                Some((after, tried)) => {
                    star = Some((after, tried + 1));
                    (at, from) = (after, tried + 1);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

enum Step {
    /// The character matches; the value is the next position in the pattern.
    Next(usize),
    Star,
    No,
}

fn one(pattern: &[u8], at: usize, byte: u8) -> Step {
    match pattern.get(at) {
        None => Step::No,
        Some(b'*') => Step::Star,
        Some(b'?') => Step::Next(at + 1),
        Some(b'[') => {
            let Some(length) = pattern[at..].iter().position(|byte| *byte == b']') else { return Step::No };
            let set = &pattern[at + 1..at + length];
            let range = set.windows(3).any(|w| w[1] == b'-' && (w[0]..=w[2]).contains(&byte));
            if range || set.contains(&byte) { Step::Next(at + length + 1) } else { Step::No }
        }
        Some(exact) if *exact == byte => Step::Next(at + 1),
        Some(_) => Step::No,
    }
}
