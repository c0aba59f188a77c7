//! What LimitRanges demand of pods and claims: kube-apiserver's plugin `LimitRanger`.

use std::collections::HashSet;

use machinery::quantity::Quantity;
use serde_json::{Map, Value};

use super::amounts::{self, Amounts};
use crate::fields::{list, text};
use crate::pods::resources::OF_PODS;

/// The annotation of a pod that says what it has got from limit ranges.
const ANNOTATION: &str = "kubernetes.io/limit-ranger";
/// The largest amount that is compared in units of 10^-3.
const MAX_MILLI: i128 = i64::MAX as i128 / 1000;

/// Gives the containers of a pod the requests and limits that they lack.
pub fn complete_pod(range: &Value, pod: &mut Value) {
    let (mut requests, mut limits) = (Map::new(), Map::new());
    for limit in of_type(range, "Container") {
        requests.extend(limit["defaultRequest"].as_object().cloned().unwrap_or_default());
        limits.extend(limit["default"].as_object().cloned().unwrap_or_default());
    }
    let mut given = Vec::new();
    for (field, shown) in [("containers", "container"), ("initContainers", "init container")] {
        for container in pod["spec"].get_mut(field).and_then(Value::as_array_mut).into_iter().flatten() {
            for (list, word, defaults) in [("requests", "request", &requests), ("limits", "limit", &limits)] {
                let names = fill(container, list, defaults);
                if !names.is_empty() {
                    given.push(format!("{names} {word} for {shown} {}", text(container, "name")));
                }
            }
        }
    }
    if !given.is_empty() {
        let value = format!("LimitRanger plugin set: {}", given.join("; "));
        pod["metadata"]["annotations"][ANNOTATION] = value.into();
    }
}

/// Adds the amounts that a container lacks, and returns their names.
fn fill(container: &mut Value, list: &str, defaults: &Map<String, Value>) -> String {
    let lacking = |(name, _): &(&String, &Value)| container["resources"][list][name.as_str()].is_null();
    let mut lacking: Vec<(String, Value)> =
        defaults.iter().filter(lacking).map(|(name, amount)| (name.clone(), amount.clone())).collect();
    lacking.sort_by(|a, b| a.0.cmp(&b.0));
    let names: Vec<String> = lacking.iter().map(|(name, _)| name.clone()).collect();
    for (name, amount) in lacking {
        container["resources"][list][name] = amount;
    }
    names.join(", ")
}

/// Checks a pod.
///
/// # Errors
/// Why the limit range refuses it.
pub fn check_pod(range: &Value, pod: &Value) -> Result<(), String> {
    let mut found = Vec::new();
    for limit in list(&range["spec"], "limits") {
        match text(limit, "type") {
            "Container" => {
                let containers = ["containers", "initContainers"].into_iter();
                for container in containers.flat_map(|field| list(&pod["spec"], field)) {
                    let read = |list: &str| amounts::read(&container["resources"][list]);
                    found.extend(Needs::of("Container", read).problems(limit));
                }
            }
            "Pod" => found.extend(Needs::of("Pod", |list| of_pod(&pod["spec"], list)).problems(limit)),
            _ => {}
        }
    }
    together(found)
}

/// Checks a PersistentVolumeClaim.
///
/// # Errors
/// Why the limit range refuses it.
pub fn check_claim(range: &Value, claim: &Value) -> Result<(), String> {
    let requests = amounts::read(&claim["spec"]["resources"]["requests"]);
    let needs = Needs { of: "PersistentVolumeClaim", requests, limits: Amounts::new() };
    let mut found = Vec::new();
    for limit in of_type(range, "PersistentVolumeClaim") {
        found.extend(amounts::read(&limit["min"]).iter().filter_map(|(name, min)| needs.below(name, min)));
        let max = amounts::read(&limit["max"]);
        found.extend(max.iter().filter_map(|(name, max)| needs.request_above(name, max)));
    }
    together(found)
}

fn of_type<'a>(range: &'a Value, kind: &'a str) -> impl Iterator<Item = &'a Value> {
    list(&range["spec"], "limits").iter().filter(move |limit| text(limit, "type") == kind)
}

/// Returns the requests or limits of a pod, of which some can stand in the pod itself.
fn of_pod(spec: &Value, list: &str) -> Amounts {
    let mut sums = amounts::of_containers(spec, |container, _| amounts::read(&container["resources"][list]));
    let own = amounts::read(&spec["resources"][list]);
    sums.extend(own.into_iter().filter(|(name, _)| OF_PODS.contains(&name.as_str())));
    sums
}

/// Joins sentences as Go's aggregated errors do: each once, in brackets if there are several.
fn together(found: Vec<String>) -> Result<(), String> {
    let mut seen = HashSet::new();
    let found: Vec<String> = found.into_iter().filter(|one| seen.insert(one.clone())).collect();
    match found.as_slice() {
        [] => Ok(()),
        [one] => Err(one.clone()),
        several => Err(format!("[{}]", several.join(", "))),
    }
}

/// What a container, a pod or a claim asks for.
struct Needs {
    of: &'static str,
    requests: Amounts,
    limits: Amounts,
}

impl Needs {
    fn of(of: &'static str, read: impl Fn(&str) -> Amounts) -> Self {
        Self { of, requests: read("requests"), limits: read("limits") }
    }

    fn problems(&self, limit: &Value) -> Vec<String> {
        let read = |field: &str| amounts::read(&limit[field]);
        let min = read("min").into_iter().filter_map(|(name, amount)| self.below(&name, &amount));
        let max = read("max").into_iter().filter_map(|(name, amount)| self.above(&name, &amount));
        let ratios = read("maxLimitRequestRatio").into_iter();
        min.chain(max).chain(ratios.filter_map(|(name, ratio)| self.apart(&name, &ratio))).collect()
    }

    fn below(&self, name: &str, min: &Quantity) -> Option<String> {
        let (request, limit) = (self.requests.get(name), self.limits.get(name));
        let [asked, most, least] = comparable(request, limit, min);
        let begin = format!("minimum {name} usage per {} is {min}", self.of);
        let Some(request) = request else { return Some(format!("{begin}.  No request is specified")) };
        if asked < least {
            return Some(format!("{begin}, but request is {request}"));
        }
        let limit = limit.filter(|_| most < least)?;
        Some(format!("{begin}, but limit is {limit}"))
    }

    fn above(&self, name: &str, max: &Quantity) -> Option<String> {
        let (request, limit) = (self.requests.get(name), self.limits.get(name));
        let [asked, most, allowed] = comparable(request, limit, max);
        let begin = format!("maximum {name} usage per {} is {max}", self.of);
        let Some(limit) = limit else { return Some(format!("{begin}.  No limit is specified")) };
        if most > allowed {
            return Some(format!("{begin}, but limit is {limit}"));
        }
        let request = request.filter(|_| asked > allowed)?;
        Some(format!("{begin}, but request is {request}"))
    }

    /// Checks the request of a claim, which has no limits.
    fn request_above(&self, name: &str, max: &Quantity) -> Option<String> {
        let request = self.requests.get(name);
        let [asked, _, allowed] = comparable(request, None, max);
        let begin = format!("maximum {name} usage per {} is {max}", self.of);
        let Some(request) = request else { return Some(format!("{begin}.  No request is specified")) };
        (asked > allowed).then(|| format!("{begin}, but request is {request}"))
    }

    /// Checks how many times the request the limit is.
    fn apart(&self, name: &str, ratio: &Quantity) -> Option<String> {
        let [asked, most, _] = comparable(self.requests.get(name), self.limits.get(name), ratio);
        let begin = format!("{name} max limit to request ratio per {} is {ratio}, but", self.of);
        if asked == 0 {
            return Some(format!("{begin} no request is specified or request is 0"));
        }
        if most == 0 {
            return Some(format!("{begin} no limit is specified or limit is 0"));
        }
        #[expect(clippy::cast_precision_loss, reason = "ratios are compared as numbers of that kind")]
        let (found, allowed) = (most as f64 / asked as f64, up(ratio, 1000) as f64);
        (found * 1000.0 > allowed).then(|| format!("{begin} provided ratio is {found:.6}"))
    }
}

/// Returns three amounts in units of 10^-3, or in whole units if one of them is too large for that.
fn comparable(request: Option<&Quantity>, limit: Option<&Quantity>, bound: &Quantity) -> [i128; 3] {
    let zero = Quantity::from_int(0);
    let all = [request.unwrap_or(&zero), limit.unwrap_or(&zero), bound];
    let parts = if all.iter().all(|amount| up(amount, 1) <= MAX_MILLI) { 1000 } else { 1 };
    all.map(|amount| up(amount, parts))
}

/// Returns an amount in parts of a whole, rounded up.
fn up(amount: &Quantity, parts: i128) -> i128 {
    let unit = 1_000_000_000 / parts;
    amount.nanos().map_or(i128::MAX, |nanos| nanos / unit + i128::from(nanos % unit > 0))
}
