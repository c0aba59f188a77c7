//! The compiled rules of a schema.

use std::sync::OnceLock;

use machinery::schema::Schema;

use crate::check::{Compiled, compile};

/// The rules of a schema, as a tree of the nodes that have rules themselves or in nodes below them. The rules of a node are
/// compiled at their first use.
///
/// The tree does not contain the schema. Callers must pass the same schema that the tree was created from ([`Rules::of`]).
#[derive(Debug, Default)]
pub struct Rules {
    /// The rules of this node, in the order of the schema.
    programs: OnceLock<Vec<Result<Compiled, String>>>,
    properties: Vec<(String, Rules)>,
    additional: Option<Box<Rules>>,
    items: Option<Box<Rules>>,
}

impl Rules {
    /// Returns the rules of a schema and of all nodes below it.
    pub fn of(schema: &Schema) -> Self {
        let below = |child: &Schema| child.has_rules.then(|| Self::of(child));
        Self {
            programs: OnceLock::new(),
            properties: schema
                .properties
                .iter()
                .filter_map(|(name, child)| Some((name.clone(), below(child)?)))
                .collect(),
            additional: schema.additional_properties.as_deref().and_then(below).map(Box::new),
            items: schema.items.as_deref().and_then(below).map(Box::new),
        }
    }

    /// Returns the rules of a property, or `None` if it has no rules.
    pub fn property(&self, name: &str) -> Option<&Rules> {
        let at = self.properties.binary_search_by(|(known, _)| known.as_str().cmp(name)).ok()?;
        self.properties.get(at).map(|(_, rules)| rules)
    }

    /// Returns the properties that have rules, in the order of their names.
    pub(super) fn properties(&self) -> impl Iterator<Item = (&str, &Rules)> {
        self.properties.iter().map(|(name, rules)| (name.as_str(), rules))
    }

    /// Returns the rules of `additionalProperties`, or `None` if it has no rules.
    pub fn additional(&self) -> Option<&Rules> {
        self.additional.as_deref()
    }

    /// Returns the rules of the items of a list, or `None` if they have no rules.
    pub fn items(&self) -> Option<&Rules> {
        self.items.as_deref()
    }

    /// Returns the compiled rules of this node, with the error text for each rule that does not compile.
    pub(super) fn programs(&self, schema: &Schema) -> &[Result<Compiled, String>] {
        self.programs.get_or_init(|| schema.rules.iter().map(|rule| compile(schema, rule)).collect())
    }
}
