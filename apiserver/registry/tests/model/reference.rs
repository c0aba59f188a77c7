//! The reference model of the registry: a map of objects and a list of all changes.

use std::collections::{BTreeMap, BTreeSet};

/// Namespace and name of an object.
pub type Key = (&'static str, &'static str);
/// Name of a field manager, and whether it owns fields by apply.
pub type Manager = (&'static str, bool);
/// `size` and the keys of `settings`, with their values.
pub type Fields = BTreeMap<&'static str, u8>;

/// A widget.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Object {
    pub revision: u64,
    pub uid: String,
    pub generation: u64,
    pub fields: Fields,
    pub tier: Option<&'static str>,
    pub finalizer: bool,
    pub deleting: bool,
    pub phase: Option<u8>,
    pub owners: BTreeMap<Manager, BTreeSet<&'static str>>,
}

/// One change: `before` or `after` is `None` if the object did not exist.
#[derive(Clone, Debug)]
pub struct Happened {
    pub revision: u64,
    pub key: Key,
    pub before: Option<Object>,
    pub after: Option<Object>,
}

/// The result of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Done,
    NotFound,
    Exists,
    Conflict,
    Invalid,
}

impl Outcome {
    pub fn code(self) -> u16 {
        match self {
            Self::Done => 200,
            Self::NotFound => 404,
            Self::Exists | Self::Conflict => 409,
            Self::Invalid => 422,
        }
    }
}

/// The `metadata.resourceVersion` or precondition of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    Nothing,
    Current,
    Stale,
}

/// The changes of an update or a merge patch. `None` leaves a field unchanged.
#[derive(Clone, Debug, Default)]
pub struct Change {
    pub fields: Vec<(&'static str, Option<u8>)>,
    pub tier: Option<Option<&'static str>>,
    pub finalizer: Option<bool>,
}

#[derive(Default)]
pub struct Model {
    pub objects: BTreeMap<Key, Object>,
    pub happened: Vec<Happened>,
}

impl Object {
    fn take(&mut self, lost: &BTreeSet<&'static str>, except: Option<Manager>) {
        for (manager, fields) in &mut self.owners {
            if except != Some(*manager) {
                fields.retain(|field| !lost.contains(field));
            }
        }
        self.owners.retain(|_, fields| !fields.is_empty());
    }

    /// Any write except apply: the writer owns the fields that it changes, and removed fields lose their owners.
    fn update(&mut self, manager: &'static str, fields: Fields) {
        let differs = |field: &&'static str| self.fields.get(field) != fields.get(field);
        let names = self.fields.keys().chain(fields.keys()).copied();
        let touched: BTreeSet<_> = names.filter(differs).collect();
        self.take(&touched, None);
        let changed = touched.into_iter().filter(|field| fields.contains_key(field));
        let owned: BTreeSet<_> = changed.collect();
        if !owned.is_empty() {
            self.owners.entry((manager, false)).or_default().extend(owned);
        }
        self.set(fields);
    }

    fn set(&mut self, fields: Fields) {
        if self.fields != fields {
            self.generation += 1;
            self.fields = fields;
        }
    }

    /// Returns whether other managers own fields that `config` would change.
    fn conflicts(&self, manager: Manager, config: &Fields) -> bool {
        let others = self.owners.iter().filter(|(other, _)| **other != manager);
        let mut owned = others.flat_map(|(_, fields)| fields);
        owned.any(|field| config.contains_key(field) && self.fields.get(field) != config.get(field))
    }

    fn apply(&mut self, manager: Manager, config: &Fields) {
        let changed: BTreeSet<_> = config
            .iter()
            .filter(|(field, value)| self.fields.get(*field) != Some(value))
            .map(|(f, _)| *f)
            .collect();
        self.take(&changed, Some(manager));
        let before = self.owners.insert(manager, config.keys().copied().collect()).unwrap_or_default();
        let owned: BTreeSet<_> = self.owners.values().flatten().copied().collect();
        let mut fields = self.fields.clone();
        fields.retain(|field, _| !before.contains(field) || owned.contains(field));
        fields.extend(config);
        self.set(fields);
    }
}

impl Model {
    fn store(&mut self, key: Key, after: Option<Object>) {
        let before = self.objects.get(&key).cloned();
        if before == after {
            return;
        }
        match &after {
            Some(object) => drop(self.objects.insert(key, object.clone())),
            None => drop(self.objects.remove(&key)),
        }
        self.happened.push(Happened { revision: 0, key, before, after });
    }

    pub fn create(&mut self, key: Key, manager: &'static str, change: &Change) -> Outcome {
        if self.objects.contains_key(&key) {
            return Outcome::Exists;
        }
        let mut object = Object::default();
        object.update(manager, changed(&object.fields, change));
        object.generation = 1;
        object.tier = change.tier.flatten();
        object.finalizer = change.finalizer.unwrap_or_default();
        self.store(key, Some(object));
        Outcome::Done
    }

    /// An update that replaces the object (`conditional`), or a patch.
    pub fn change(
        &mut self,
        key: Key,
        manager: &'static str,
        expect: Expect,
        change: &Change,
        conditional: bool,
    ) -> Outcome {
        let Some(mut object) = self.objects.get(&key).cloned() else { return Outcome::NotFound };
        match expect {
            Expect::Stale => return Outcome::Conflict,
            Expect::Nothing if conditional => return Outcome::Invalid,
            _ => {}
        }
        object.update(manager, changed(&object.fields, change));
        object.tier = change.tier.unwrap_or(object.tier);
        object.finalizer = change.finalizer.unwrap_or(object.finalizer);
        let gone = object.deleting && !object.finalizer;
        self.store(key, (!gone).then_some(object));
        Outcome::Done
    }

    /// A JSON patch that sets `size` if it is `expected`.
    pub fn test_and_set(&mut self, key: Key, manager: &'static str, expected: u8, size: u8) -> Outcome {
        match self.objects.get(&key) {
            None => Outcome::NotFound,
            Some(object) if object.fields.get("size") != Some(&expected) => Outcome::Invalid,
            Some(_) => {
                let change = Change { fields: vec![("size", Some(size))], ..Change::default() };
                self.change(key, manager, Expect::Nothing, &change, false)
            }
        }
    }

    pub fn status(&mut self, key: Key, phase: u8) -> Outcome {
        let Some(mut object) = self.objects.get(&key).cloned() else { return Outcome::NotFound };
        object.phase = Some(phase);
        self.store(key, Some(object));
        Outcome::Done
    }

    pub fn apply(&mut self, key: Key, manager: &'static str, config: &Fields, force: bool) -> Outcome {
        let mut object = self.objects.get(&key).cloned().unwrap_or_default();
        if !force && object.conflicts((manager, true), config) {
            return Outcome::Conflict;
        }
        object.apply((manager, true), config);
        self.store(key, Some(object));
        Outcome::Done
    }

    pub fn delete(&mut self, key: Key, uid: Expect, revision: Expect) -> Outcome {
        let Some(mut object) = self.objects.get(&key).cloned() else { return Outcome::NotFound };
        if uid == Expect::Stale || revision == Expect::Stale {
            return Outcome::Conflict;
        }
        if object.finalizer && !object.deleting {
            object.deleting = true;
            object.generation += 1;
        }
        let kept = object.finalizer.then_some(object);
        self.store(key, kept);
        Outcome::Done
    }
}

/// Returns `fields` with the changes of `change`.
pub fn changed(fields: &Fields, change: &Change) -> Fields {
    let mut fields = fields.clone();
    for (field, value) in &change.fields {
        match value {
            Some(value) => drop(fields.insert(field, *value)),
            None => drop(fields.remove(field)),
        }
    }
    fields
}

/// The selectors of a list or watch.
#[derive(Clone, Debug, Default)]
pub struct Selector {
    /// `None` selects all namespaces.
    pub namespace: Option<&'static str>,
    /// One of [`LABELS`].
    pub labels: &'static str,
    pub name: Option<&'static str>,
}

pub const LABELS: [&str; 6] = ["", "tier=x", "tier!=x", "tier in (x,y)", "!tier", "tier,app=w"];

impl Selector {
    pub fn covers(&self, key: Key) -> bool {
        self.namespace.is_none_or(|namespace| namespace == key.0)
    }

    pub fn matches(&self, key: Key, object: &Object) -> bool {
        let tier = object.tier;
        let labels = match self.labels {
            "" => true,
            "tier=x" => tier == Some("x"),
            "tier!=x" => tier != Some("x"),
            "!tier" => tier.is_none(),
            "tier in (x,y)" | "tier,app=w" => tier.is_some(),
            other => panic!("{other}"),
        };
        self.covers(key) && labels && self.name.is_none_or(|name| name == key.1)
    }
}
