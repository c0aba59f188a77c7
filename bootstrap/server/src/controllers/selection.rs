//! The flag `--controllers`, which selects families of controllers.

use std::fmt;
use std::str::FromStr;

use clusterctl::built_in::BuiltIn;

use super::table::{Context, Family, families};

/// The families of controllers that run in this process: `core`, `addons`, …. In a list, `kubeadm` stands for `kubeadm-bootstrap` and
/// `kubeadm-control-plane`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection(Vec<&'static str>);

impl Selection {
    /// The empty selection.
    pub const NONE: Self = Self(Vec::new());

    /// Selects every family.
    pub fn all() -> Self {
        Self(families().into_iter().map(|family| family.name).collect())
    }

    /// Returns the selection without the family `name`.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.0.retain(|family| *family != name);
        self
    }

    /// Returns the selection with no family but `name`.
    #[must_use]
    pub fn only(mut self, name: &str) -> Self {
        self.0.retain(|family| *family == name);
        self
    }

    /// Returns the names of the selected families.
    pub fn names(&self) -> &[&'static str] {
        &self.0
    }

    /// Returns whether no family is selected.
    pub fn is_none(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the providers whose controllers are selected. Several families can have a part of one.
    pub fn providers(&self) -> Vec<BuiltIn> {
        let mut all: Vec<BuiltIn> = Vec::new();
        for one in self.families().flat_map(|family| family.providers) {
            match all.iter_mut().find(|known| known.provider == one.provider) {
                Some(known) => known.backends.extend(one.backends),
                None => all.push(one),
            }
        }
        all
    }

    /// Returns the selected families, in the order in which they start.
    fn families(&self) -> impl Iterator<Item = Family> {
        families().into_iter().filter(|family| self.0.contains(&family.name))
    }
}

impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_none() { f.write_str("none") } else { f.write_str(&self.0.join(",")) }
    }
}

impl FromStr for Selection {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Self(known) = Self::all();
        match text {
            "all" => return Ok(Self(known)),
            "none" | "" => return Ok(Self::NONE),
            _ => {}
        }
        let asked: Vec<&str> = text.split(',').map(str::trim).collect();
        if let Some(other) = asked.iter().find(|asked| !known.iter().any(|name| is_meant(asked, name))) {
            return Err(format!("no controller is called {other:?}; there are {}", listed(&known)));
        }
        let is_asked = |name: &&str| asked.iter().any(|asked| is_meant(asked, name));
        Ok(Self(known.into_iter().filter(is_asked).collect()))
    }
}

/// Returns whether `asked` is the name of a family, or that of several: `kubeadm`.
fn is_meant(asked: &str, name: &str) -> bool {
    asked == name || name.strip_prefix(asked).is_some_and(|rest| rest.starts_with('-'))
}

/// Starts the selected controllers. They run until the manager ends.
pub fn start(context: &Context, selection: &Selection) {
    for family in selection.families() {
        family.start(context);
    }
}

/// Joins names to a list such as `a, b and c`.
fn listed(names: &[&str]) -> String {
    match names {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => names.concat(),
    }
}
