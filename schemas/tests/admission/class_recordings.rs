//! What upstream answered to writes of ClusterClasses and Clusters (`data/class-admission.json`, from recordings of Cluster API 1.14):
//! the same is accepted here, and the same fields are refused for the same reasons.

use apiextensions::CompiledSchema;
use cel::Known;
use machinery::field::FieldError;
use machinery::patch::{json_patch, merge_patch};
use machinery::schema::{drop_nulls, prune};
use schemas::admission::{Facts, Running, check, check_deletion, class_key, set_defaults};
use schemas::cluster::{Cluster, ClusterClass};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{ALL, summary};

const GROUP: &str = "cluster.x-k8s.io";

fn recording() -> Value {
    serde_json::from_str(include_str!("../data/class-admission.json")).unwrap()
}

/// A recorded write.
struct Write<'a> {
    case: &'a Value,
    /// The object before the write.
    old: Option<Value>,
    /// The classes for a write of a Cluster, the Clusters for one of a class.
    others: Vec<Value>,
}

impl<'a> Write<'a> {
    fn of(recording: &'a Value, case: &'a Value) -> Self {
        let object =
            |index: &Value| recording["objects"][usize::try_from(index.as_u64().unwrap()).unwrap()].clone();
        let others = case["others"].as_array().unwrap().iter().map(object).collect();
        Self { case, old: case.get("old").map(object), others }
    }

    fn kind(&self) -> &str {
        self.case["kind"].as_str().unwrap()
    }

    /// The object after the write, as the client wants it.
    fn written(&self) -> Value {
        let body = &self.case["body"];
        let Some(old) = &self.old else { return body.clone() };
        let text = body.to_string();
        let patched = if body.is_array() {
            json_patch(old, text.as_bytes())
        } else {
            merge_patch(old, text.as_bytes())
        };
        patched.unwrap().object
    }

    fn class(&self, cluster: &Value) -> Option<Box<ClusterClass>> {
        let (namespace, name) = class_key(cluster)?;
        let is_wanted =
            |class: &&Value| class["metadata"]["namespace"] == namespace && class["metadata"]["name"] == name;
        self.others.iter().find(is_wanted).map(|class| Box::new(ClusterClass::deserialize(class).unwrap()))
    }

    /// The facts, where everything that runs has the version of the Cluster before.
    fn facts(&self, new: &Value) -> Facts {
        let mut facts = Facts::of_empty_server();
        if self.kind() == "ClusterClass" {
            let users = self.others.iter().filter(|cluster| {
                class_key(cluster).is_some_and(|(_, name)| new["metadata"]["name"] == name)
            });
            facts.clusters = Ok(users.map(|cluster| Cluster::deserialize(cluster).unwrap()).collect()).into();
            return facts;
        }
        facts.class = Ok(self.class(new)).into();
        if let Some(old) = &self.old {
            facts.old_class = Ok(self.class(old)).into();
            let version = &old["spec"]["topology"]["version"];
            let control_plane = json!({ "spec": { "version": version }, "status": { "version": version } });
            facts.running = Ok(Running { control_plane: Some(control_plane), ..Running::default() }).into();
        }
        facts
    }

    /// Answers the write as a server does: defaults, then the schema, then the rules.
    fn answer(&self) -> Result<Value, Vec<FieldError>> {
        let (kind, old) = (self.kind(), self.old.as_ref());
        if self.case["verb"] == "DELETE" {
            let old = old.unwrap();
            let facts = self.facts(old);
            let forbidden = |why: String| {
                FieldError::bare(machinery::field::FieldErrorKind::Forbidden, String::new(), why)
            };
            return check_deletion(GROUP, kind, old, None, &facts)
                .map(|()| Value::Null)
                .map_err(|why| vec![forbidden(why)]);
        }
        let mut new = self.written();
        let schema = schema(kind);
        drop_nulls(&schema, &mut new);
        machinery::schema::default(&schema, &mut new);
        let facts = self.facts(&new);
        set_defaults(GROUP, kind, &mut new, old, &facts)?;
        let errors = schema.validate(&new, old, Vec::new(), Known::default());
        if !errors.is_empty() {
            return Err(errors);
        }
        let mut pruned = new.clone();
        assert_eq!(prune(&schema, &mut pruned), Vec::<String>::new(), "{}", self.case["what"]);
        check(GROUP, kind, &new, old, false, ALL, &facts)?;
        Ok(new)
    }
}

fn schema(kind: &str) -> CompiledSchema {
    let crds = schemas::crds().unwrap();
    let crd = crds.iter().find(|crd| crd["spec"]["group"] == GROUP && crd["spec"]["names"]["kind"] == kind);
    CompiledSchema::parse(&crd.unwrap()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]).unwrap()
}

#[test]
fn upstreams_refusals_and_acceptances_are_ours() {
    let recording = recording();
    let mut wrong = Vec::new();
    for case in recording["cases"].as_array().unwrap() {
        let answer = Write::of(&recording, case).answer();
        let details: Vec<String> =
            answer.as_ref().err().into_iter().flatten().map(ToString::to_string).collect();
        let mut found = summary(answer.map(|_| Vec::new()));
        let mut expected: Vec<String> = case["errors"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|error| error.as_str().unwrap().to_owned())
            .collect();
        if case["verb"] == "DELETE" && !expected.is_empty() {
            expected = vec![": Forbidden".to_owned()];
        }
        // Messages say the same of both.
        found.iter_mut().for_each(|error| *error = error.replace(": TypeInvalid", ": Invalid"));
        // That rules of CEL were not evaluated is no refusal of a field.
        found.retain(|error| error != ": Invalid");
        found.sort();
        expected.sort();
        if found != expected {
            wrong.push(format!("{}\n  ours {details:#?}\n  upstream {}", case["what"], case["upstream"]));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// The values of a class's defaults are stored, so that a later change of the class does not change its Clusters.
#[test]
fn defaults_are_those_of_upstream() {
    let recording = recording();
    let case = |what: &str| {
        let mut cases = recording["cases"].as_array().unwrap().iter();
        let case = cases.find(|case| case["what"].as_str().unwrap().starts_with(what)).unwrap();
        Write::of(&recording, case).answer().unwrap()["spec"]["topology"]["variables"].clone()
    };
    assert_eq!(case("variable null"), json!([{ "name": "count", "value": 2 }]));
    assert_eq!(case("cluster: count = 5"), json!([{ "name": "count", "value": 5 }]));
}
