//! Conversion of the Cluster API and Metal3 kinds between their versions: what upstream implements as webhooks, called in this
//! process.

use registry::{Converter, Definition};
use serde_json::Value;

use crate::names::MANIFEST_HASH;

/// Converts the kinds of firstlight's own definitions. Definitions that somebody else installed under the same names come with their
/// own webhooks.
#[derive(Debug)]
pub struct ClusterApiConversion;

impl Converter for ClusterApiConversion {
    fn concerns(&self, definition: &Definition) -> bool {
        definition.annotations.contains_key(MANIFEST_HASH)
            && schemas::conversion::converts(&definition.group, &definition.kind)
    }

    fn convert(&self, definition: &Definition, object: Value, version: &str) -> Value {
        let schema = |version: &str| definition.version(version).map(|version| &*version.schema);
        schemas::conversion::convert(&definition.group, object, version, &schema)
    }
}
