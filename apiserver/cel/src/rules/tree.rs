//! The compiled rules of a schema.

use std::sync::OnceLock;

use machinery::schema::Schema;

use crate::check::{Compiled, compile};

/// The rules of a schema in compiled form: a tree of the nodes that have rules, or have some below them. The rules of a node are
/// compiled when they are first needed.
///
/// The tree holds nothing else of the schema, so its methods take the schema that it was made [`of`](Self::of).
#[derive(Debug, Default)]
pub struct Rules {
    /// Of this node, in the order of the schema's rules.
    programs: OnceLock<Vec<Result<Compiled, String>>>,
    properties: Vec<(String, Rules)>,
    additional: Option<Box<Rules>>,
    items: Option<Box<Rules>>,
}

impl Rules {
    /// The rules of a schema and of everything below it.
    pub fn of(schema: &Schema) -> Self {
        let below = |child: &Schema| child.has_rules.then(|| Self::of(child));
        let property = |(name, child): (&String, &Box<Schema>)| Some((name.clone(), below(child)?));
        Self {
            programs: OnceLock::new(),
            properties: schema.properties.iter().filter_map(property).collect(),
            additional: schema.additional_properties.as_deref().and_then(below).map(Box::new),
            items: schema.items.as_deref().and_then(below).map(Box::new),
        }
    }

    /// Those of a property, if it has some.
    pub fn property(&self, name: &str) -> Option<&Rules> {
        let at = self.properties.binary_search_by(|(known, _)| known.as_str().cmp(name)).ok()?;
        self.properties.get(at).map(|(_, rules)| rules)
    }

    /// Those of the properties that have some, in the order of their names.
    pub(super) fn properties(&self) -> impl Iterator<Item = (&str, &Rules)> {
        self.properties.iter().map(|(name, rules)| (name.as_str(), rules))
    }

    /// Those of the values under keys that are no properties, if any.
    pub fn additional(&self) -> Option<&Rules> {
        self.additional.as_deref()
    }

    /// Those of the items, if any.
    pub fn items(&self) -> Option<&Rules> {
        self.items.as_deref()
    }

    /// The rules of this node; an error for one that does not compile.
    pub(super) fn programs(&self, schema: &Schema) -> &[Result<Compiled, String>] {
        self.programs.get_or_init(|| schema.rules.iter().map(|rule| compile(schema, rule)).collect())
    }
}
