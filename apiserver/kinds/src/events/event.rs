//! Events of both API groups, `v1` and `events.k8s.io/v1`. Errors name the fields of the stored `v1` form, and
//! validation is stricter for `events.k8s.io`.

use machinery::field::FieldError;
use machinery::{meta, names};
use serde_json::Value;

use crate::fields::{at, invalid, required, text};
use crate::strategy::Strategy;

/// The strategy of `v1.Event` or `events.k8s.io/v1.Event`.
pub(crate) struct Events {
    /// Whether the group is `events.k8s.io`.
    pub(crate) strict: bool,
}

const MAX_SHORT: usize = 128;
const MAX_NOTE: usize = 1024;

impl Events {
    fn object_field(&self) -> &'static str {
        if self.strict { "regarding" } else { "involvedObject" }
    }

    /// Returns the name that this group has for a field of the stored form.
    fn name(&self, core: &'static str) -> &'static str {
        match (self.strict, core) {
            (true, "message") => "note",
            (true, "reportingComponent") => "reportingController",
            (true, "count") => "deprecatedCount",
            (true, "source") => "deprecatedSource",
            (true, "firstTimestamp") => "deprecatedFirstTimestamp",
            (true, "lastTimestamp") => "deprecatedLastTimestamp",
            _ => core,
        }
    }

    /// Validates the rules that hold for Events of both groups.
    fn basics(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let namespace = meta::namespace(object);
        let about = object[self.object_field()]["namespace"].as_str().unwrap_or_default();
        let timed = !object["eventTime"].is_null();
        let matches = match (about.is_empty(), timed) {
            (true, true) => matches!(namespace, "default" | "kube-system"),
            (true, false) => namespace == "default",
            (false, true) => true,
            (false, false) => about == namespace,
        };
        if !matches {
            errors.push(invalid("involvedObject.namespace", about, "does not match event.namespace"));
        }
        if timed {
            self.reporter(object, &mut errors);
        }
        errors
    }

    /// Validates the reporting controller and the action of Events that have an `eventTime`.
    fn reporter(&self, object: &Value, errors: &mut Vec<FieldError>) {
        let field = self.name("reportingComponent");
        let controller = text(object, field);
        if controller.is_empty() {
            errors.push(required(field, ""));
        }
        let problems = names::qualified_name(controller);
        errors.extend(problems.into_iter().map(|why| invalid(field, controller, why)));
        for field in ["reportingInstance", "action", "reason"] {
            let value = text(object, field);
            if value.is_empty() {
                errors.push(required(field, ""));
            }
            if value.len() > MAX_SHORT {
                errors.push(invalid(field, "", format!("can have at most {MAX_SHORT} characters")));
            }
        }
        if text(object, self.name("message")).len() > MAX_NOTE {
            errors.push(invalid("message", "", format!("can have at most {MAX_NOTE} characters")));
        }
    }

    /// Validates the rules that only new Events of `events.k8s.io` must follow.
    fn strictly(&self, object: &Value, errors: &mut Vec<FieldError>) {
        series(object, errors);
        if object["eventTime"].is_null() {
            errors.push(required("eventTime", ""));
        }
        let kind = text(object, "type");
        if !matches!(kind, "Normal" | "Warning") {
            errors.push(invalid("type", "", format!("has invalid value: {kind}")));
        }
        for core in ["firstTimestamp", "lastTimestamp", "count", "source"] {
            let value = &object[self.name(core)];
            if !(crate::decode::empty(value) || *value == 0) {
                errors.push(invalid(core, "", "needs to be unset"));
            }
        }
    }
}

fn series(object: &Value, errors: &mut Vec<FieldError>) {
    let series = &object["series"];
    if !series.is_object() {
        return;
    }
    if series["count"].as_i64().unwrap_or(0) < 2 {
        errors.push(invalid("series.count", "", "should be at least 2"));
    }
    if series["lastObservedTime"].is_null() {
        errors.push(required("series.lastObservedTime", ""));
    }
}

impl Strategy for Events {
    fn metadata_repeats(&self) -> (usize, usize) {
        if self.strict { (1, 1) } else { (0, 0) }
    }

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = self.basics(object);
        if self.strict {
            self.strictly(object, &mut errors);
        }
        errors
    }

    fn validate_update(&self, object: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = self.basics(object);
        if !self.strict {
            return errors;
        }
        if object["series"] != old["series"] {
            series(object, &mut errors);
        }
        let fields = [
            "involvedObject",
            "reason",
            "message",
            "source",
            "firstTimestamp",
            "lastTimestamp",
            "count",
            // kube-apiserver compares `reason` twice and so reports it twice.
            "reason",
            "eventTime",
            "action",
            "related",
            "reportingComponent",
            "reportingInstance",
            "type",
        ];
        for core in fields {
            let field = if core == "involvedObject" { self.object_field() } else { self.name(core) };
            if object[field] != old[field] {
                errors.push(invalid(core, object[field].clone(), "field is immutable"));
            }
        }
        errors
    }

    /// Names of `v1` Events only need to be valid path segments.
    fn check_name(&self, name: &str, prefix: bool) -> Vec<String> {
        if !self.strict {
            return if prefix { names::path_segment_prefix(name) } else { names::path_segment(name) };
        }
        // A letter stands for the generated suffix, because a prefix such as `m1.` alone is not a valid name.
        names::dns1123_subdomain(&if prefix { format!("{name}a") } else { name.to_owned() })
    }

    fn qualified_finalizers(&self) -> bool {
        self.strict
    }

    fn create_on_update(&self) -> bool {
        true
    }

    fn selectable(&self) -> &'static [&'static str] {
        if self.strict {
            return &[
                "regarding.kind",
                "regarding.namespace",
                "regarding.name",
                "regarding.uid",
                "regarding.apiVersion",
                "regarding.resourceVersion",
                "regarding.fieldPath",
                "reason",
                "reportingController",
                "type",
            ];
        }
        &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ]
    }

    fn field(&self, object: &Value, field: &str) -> String {
        let found = match field {
            "source" => {
                let component = text(&object["source"], "component");
                if component.is_empty() { text(object, "reportingComponent") } else { component }
            }
            field => at(object, field).as_str().unwrap_or_default(),
        };
        found.to_owned()
    }
}
