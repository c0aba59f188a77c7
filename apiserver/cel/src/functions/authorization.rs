//! Kubernetes' authorization library: what a user or a ServiceAccount may do.

use std::rc::Rc;

use machinery::names;

use crate::values::{Asker, Authority, Outcome, Resource, Step, Subject, Val};

pub(super) fn call<'a>(name: &str, args: &[Val<'a>]) -> Option<Outcome<'a>> {
    let (Val::Authority(authority), rest) = args.split_first()? else { return None };
    match (&authority.step, rest) {
        (Step::Authorizer, rest) => authorizer(name, authority, rest),
        (Step::Group(group), [Val::Text(text)]) if name == "resource" => {
            if text.trim().is_empty() {
                return Some(Err("resource must not be empty".into()));
            }
            let (group, resource) = (group.clone(), text.to_string());
            Some(Ok(subject(
                authority,
                Subject::Resource(Resource { group, resource, ..Resource::default() }),
            )))
        }
        (Step::Subject(asked), [Val::Text(verb)]) if name == "check" => {
            let (allowed, reason) = authority.decider.decide(&authority.asker, verb, asked);
            Some(Ok(value(authority.then(Step::Decision { allowed, reason }))))
        }
        (Step::Subject(Subject::Resource(resource)), [Val::Text(text)]) => {
            let mut resource = resource.clone();
            match name {
                "subresource" => resource.subresource = text.to_string(),
                "namespace" => resource.namespace = text.to_string(),
                "name" => resource.name = text.to_string(),
                // Permissions here do not depend on selectors.
                "fieldSelector" | "labelSelector" => {}
                _ => return None,
            }
            Some(Ok(subject(authority, Subject::Resource(resource))))
        }
        (Step::Decision { allowed, reason }, []) => Some(Ok(match name {
            "allowed" => Val::Bool(*allowed),
            "reason" => Val::text(reason.clone()),
            "errored" => Val::Bool(false),
            "error" => Val::text(""),
            _ => return None,
        })),
        _ => None,
    }
}

fn authorizer<'a>(name: &str, authority: &Authority<'a>, args: &[Val<'a>]) -> Option<Outcome<'a>> {
    Some(match (name, args) {
        ("path", [Val::Text(path)]) if path.trim().is_empty() => Err("path must not be empty".into()),
        ("path", [Val::Text(path)]) => Ok(subject(authority, Subject::Path(path.to_string()))),
        ("group", [Val::Text(group)]) => Ok(value(authority.then(Step::Group(group.to_string())))),
        ("serviceAccount", [Val::Text(namespace), Val::Text(name)]) => {
            if !names::dns1123_subdomain(name).is_empty() {
                return Some(Err("Invalid service account name".into()));
            }
            if !names::dns1123_label(namespace).is_empty() {
                return Some(Err("Invalid service account namespace".into()));
            }
            let asker = Asker::ServiceAccount { namespace: namespace.to_string(), name: name.to_string() };
            Ok(value(Authority { decider: authority.decider, asker, step: Step::Authorizer }))
        }
        _ => return None,
    })
}

fn subject<'a>(authority: &Authority<'a>, subject: Subject) -> Val<'a> {
    value(authority.then(Step::Subject(subject)))
}

fn value(authority: Authority<'_>) -> Val<'_> {
    Val::Authority(Rc::new(authority))
}
