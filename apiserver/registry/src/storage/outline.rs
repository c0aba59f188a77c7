//! What selection and housekeeping ask of a stored object. It is kept beside the object, so that no read has to look through its text.

use std::borrow::Cow;
use std::sync::{Arc, Weak};

use kinds::definition::Version;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Map, Value};
use store::{Derived, Stored};

/// Maximum number of versions of a kind whose selectable fields are kept beside an object.
const VERSIONS: usize = 4;

/// A list of texts in one piece of memory.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Texts {
    text: Box<str>,
    /// The offset of the end of each text.
    ends: Box<[u32]>,
}

impl Texts {
    pub(crate) fn of<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> Self {
        let (mut text, mut ends) = (String::new(), Vec::new());
        for one in texts {
            text.push_str(one.as_ref());
            // A stored object is far smaller than 4 GiB.
            ends.push(u32::try_from(text.len()).unwrap_or(u32::MAX));
        }
        Self { text: text.into(), ends: ends.into() }
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns the text at `index`; empty if there is none.
    pub(crate) fn get(&self, index: usize) -> &str {
        let end = |index: usize| self.ends.get(index).map_or(0, |end| *end as usize);
        let start = if index == 0 { 0 } else { end(index - 1) };
        self.text.get(start..end(index)).unwrap_or_default()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|index| self.get(index))
    }
}

/// One owner reference.
#[derive(Debug, Clone, Default, Deserialize, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Owner {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) block_owner_deletion: Option<bool>,
}

/// The parts of `metadata` that an outline is made of.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Meta<'a> {
    #[serde(borrow)]
    uid: Cow<'a, str>,
    labels: Map<String, Value>,
    owner_references: Vec<Owner>,
    finalizers: Vec<String>,
    deletion_timestamp: Option<String>,
}

/// The outline of an object.
#[derive(Default)]
pub(crate) struct Outline {
    /// Keys and values in turn, in the order of the keys.
    labels: Texts,
    pub(crate) uid: Box<str>,
    pub(crate) owners: Box<[Owner]>,
    pub(crate) finalizers: Texts,
    pub(crate) is_deleting: bool,
    /// The selectable fields by version. They depend on the definition of the kind, and each definition has versions of its own.
    fields: Mutex<Vec<(Weak<Version>, Arc<Texts>)>>,
}

impl Outline {
    /// Reads the text of an object. Returns `None` if it is malformed.
    pub(crate) fn read(text: &[u8]) -> Option<Self> {
        let range = machinery::splice::range(text, "metadata")?;
        let meta: Meta<'_> = serde_json::from_slice(text.get(range)?).ok()?;
        Some(Self {
            labels: labels(&meta.labels),
            uid: meta.uid.into(),
            owners: meta.owner_references.into(),
            finalizers: Texts::of(meta.finalizers),
            is_deleting: meta.deletion_timestamp.is_some(),
            fields: Mutex::default(),
        })
    }

    /// Returns the outline of an object that is about to be stored. Returns `None` if its metadata are malformed.
    pub(crate) fn of_value(object: &Value) -> Option<Self> {
        let metadata = object.get("metadata")?;
        let owners = match metadata.get("ownerReferences") {
            None => Vec::new(),
            Some(owners) => Vec::<Owner>::deserialize(owners).ok()?,
        };
        Some(Self {
            labels: machinery::meta::labels(object).map(labels).unwrap_or_default(),
            uid: machinery::meta::uid(object).into(),
            owners: owners.into(),
            finalizers: Texts::of(machinery::meta::finalizers(object)),
            is_deleting: machinery::meta::is_deleting(object),
            fields: Mutex::default(),
        })
    }

    /// Returns the value of a label.
    pub(crate) fn label(&self, key: &str) -> Option<&str> {
        let (mut low, mut high) = (0, self.labels.len() / 2);
        while low < high {
            let middle = low.midpoint(high);
            match self.labels.get(2 * middle).cmp(key) {
                std::cmp::Ordering::Equal => return Some(self.labels.get(2 * middle + 1)),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }

    /// Returns the selectable fields that clients of `version` see, if they are known.
    pub(crate) fn known_fields(&self, version: &Arc<Version>) -> Option<Arc<Texts>> {
        self.ask_fields(version, Arc::clone)
    }

    /// Looks at the selectable fields that clients of `version` see, if they are known.
    pub(crate) fn ask_fields<T>(
        &self,
        version: &Arc<Version>,
        ask: impl FnOnce(&Arc<Texts>) -> T,
    ) -> Option<T> {
        let fields = self.fields.lock();
        let found = fields.iter().find(|(of, _)| std::ptr::eq(of.as_ptr(), Arc::as_ptr(version)));
        found.map(|(_, fields)| ask(fields))
    }

    /// Keeps the selectable fields that clients of `version` see.
    pub(crate) fn keep_fields(&self, version: &Arc<Version>, texts: Arc<Texts>) {
        let mut fields = self.fields.lock();
        // Those of a definition that was replaced are of no use.
        fields.retain(|(of, _)| of.strong_count() > 0 && !std::ptr::eq(of.as_ptr(), Arc::as_ptr(version)));
        if fields.len() == VERSIONS {
            fields.remove(0);
        }
        fields.reserve_exact(1);
        fields.push((Arc::downgrade(version), texts));
    }
}

fn labels(labels: &Map<String, Value>) -> Texts {
    let mut pairs: Vec<(&str, &str)> =
        labels.iter().filter_map(|(key, value)| Some((key.as_str(), value.as_str()?))).collect();
    pairs.sort_unstable();
    Texts::of(pairs.into_iter().flat_map(|(key, value)| [key, value]))
}

/// Returns the outline of a stored object, which is read from its text if it is not known yet. Returns `None` if the object is malformed.
pub(crate) fn of(stored: &Stored) -> Option<&Outline> {
    stored.derived.get_or(|| Outline::read(&stored.value))?.as_ref()
}

/// Returns the outline in the form in which the store keeps it.
pub(crate) fn derived(outline: Option<Outline>) -> Derived {
    Derived::of(outline)
}

/// Returns the number of bytes that have to be looked through before the outline is known.
pub(crate) fn unread(stored: &Stored) -> usize {
    if stored.derived.is_known() { 0 } else { stored.value.len() }
}
