//! The authorizer, as the expressions of policies ask it.

use std::sync::Arc;

use access::attributes::Resource;
use access::{Attributes, Authorizer, User};
use registry::permissions::{Permits, Subject};

/// Asks the authorizer of the server.
pub(crate) struct Permitting(pub(crate) Arc<dyn Authorizer>);

impl Permits for Permitting {
    fn permits(&self, user: &User, verb: &str, subject: &Subject) -> (bool, String) {
        let (path, resource) = match subject {
            Subject::Path(path) => (path.as_str(), None),
            Subject::Resource(asked) => {
                let resource = Resource {
                    group: &asked.group,
                    version: "*",
                    resource: &asked.resource,
                    subresource: &asked.subresource,
                    namespace: &asked.namespace,
                    name: &asked.name,
                };
                ("", Some(resource))
            }
        };
        self.0.explain(&Attributes { user, verb, path, resource })
    }
}
