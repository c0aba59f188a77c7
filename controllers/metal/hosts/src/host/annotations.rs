//! What a host's annotations ask for (`contract/metal3`, §1.5).

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::names::{DETACHED, REBOOT};

type Annotations = BTreeMap<String, String>;

/// `reboot.metal3.io` and `reboot.metal3.io/<suffix>`, all of them together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reboot {
    /// The power is cut; otherwise the system is asked to end.
    pub is_hard: bool,
    /// Honoured while an agent works, too.
    pub is_forced: bool,
    /// A client keeps the machine off until it removes its key.
    pub is_held: bool,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RebootValue {
    mode: String,
    force: bool,
}

/// What the reboot annotations ask for; `None` without any. A value that is not understood asks for a soft reboot.
pub fn reboot(annotations: &Annotations) -> Option<Reboot> {
    let mut found: Option<Reboot> = None;
    for (key, value) in annotations {
        let Some(suffix) = key.strip_prefix(REBOOT) else { continue };
        if !suffix.is_empty() && !suffix.starts_with('/') {
            continue;
        }
        let value: RebootValue = serde_json::from_str(value).unwrap_or_default();
        let reboot = found.get_or_insert_default();
        reboot.is_hard |= value.mode == "hard";
        reboot.is_forced |= value.force;
        reboot.is_held |= !suffix.is_empty();
    }
    found
}

/// Whether the key is one of the reboot annotations.
pub fn is_reboot(key: &str) -> bool {
    key.strip_prefix(REBOOT).is_some_and(|suffix| suffix.is_empty() || suffix.starts_with('/'))
}

/// What happens to a detached host that is deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeleteAction {
    /// It goes at once, and the machine is left as it is.
    #[default]
    Delete,
    /// It waits until it is attached again.
    Delay,
}

/// `baremetalhost.metal3.io/detached`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Detached {
    /// On deletion.
    pub delete_action: DeleteAction,
    /// In any state, and not only where the machine rests.
    pub force: bool,
}

/// What the annotation says, if it is there. A value that is not understood counts as an empty one.
pub fn detached(annotations: &Annotations) -> Option<Detached> {
    annotations.get(DETACHED).map(|value| serde_json::from_str(value).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn annotations(pairs: &[(&str, &str)]) -> Annotations {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn reboots_add_up() {
        let soft = Reboot::default();
        type Case<'a> = (&'a [(&'a str, &'a str)], Option<Reboot>);
        let cases: &[Case<'_>] = &[
            (&[], None),
            (&[("reboot.metal3.iox", "")], None),
            (&[("reboot.metal3.io", "")], Some(soft)),
            (&[("reboot.metal3.io", "nonsense")], Some(soft)),
            (&[("reboot.metal3.io", r#"{"mode":"hard"}"#)], Some(Reboot { is_hard: true, ..soft })),
            (&[("reboot.metal3.io/x", "")], Some(Reboot { is_held: true, ..soft })),
            (
                &[("reboot.metal3.io", r#"{"force":true}"#), ("reboot.metal3.io/x", r#"{"mode":"hard"}"#)],
                Some(Reboot { is_hard: true, is_forced: true, is_held: true }),
            ),
        ];
        for (pairs, expected) in cases {
            assert_eq!(reboot(&annotations(pairs)), *expected, "{pairs:?}");
        }
    }

    #[test]
    fn detachment() {
        let cases = [
            ("", Detached::default()),
            ("true", Detached::default()),
            (r#"{"deleteAction":"delay"}"#, Detached { delete_action: DeleteAction::Delay, force: false }),
            (
                r#"{"deleteAction":"delete","force":true}"#,
                Detached { delete_action: DeleteAction::Delete, force: true },
            ),
        ];
        for (value, expected) in cases {
            assert_eq!(detached(&annotations(&[(DETACHED, value)])), Some(expected), "{value}");
        }
    }
}
