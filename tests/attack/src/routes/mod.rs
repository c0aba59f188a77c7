//! Requests every route in every scope with four accounts, and paths that only resemble routes. Requests that
//! the model of Kubernetes' rules forbids must be refused without any change; allowed ones must not be
//! answered with 403.

mod discovery;
pub mod model;
mod paths;

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Result, ensure};
use http::Method;
use machinery::random::Random;
use serde_json::{Value, json};

use self::discovery::{differences, is_route, items, text};
use self::model::{ACCOUNTS, Account, Meaning, meaning};
use self::paths::Case;
use crate::caller::{Answer, Ask, Caller};
use crate::lab::{Lab, MINE, OTHER, Options, PLANTED};
use crate::report::Broken;

pub use self::discovery::{Resource, resources, snapshot};

const WORKERS: usize = 8;
/// How long a watch is read; initial events arrive at once.
const LISTEN: Duration = Duration::from_millis(150);
/// A text that only the server's metrics contain.
const METRICS: &str = "# TYPE firstlight";

/// Planted texts that only some accounts, or none, may see.
pub struct Planted {
    pub canary: String,
    /// The text in ConfigMaps, which `reader` may read.
    pub shared: String,
}

impl Planted {
    /// Returns the violation if the response contains a text that this account may not see.
    pub fn seen(&self, account: &str, answer: &Answer) -> Option<&'static str> {
        if answer.holds(&self.canary) {
            return Some("an answer holds what was planted in another namespace");
        }
        if account != "reader" && answer.holds(&self.shared) {
            return Some("an answer holds what was planted in another namespace's ConfigMap");
        }
        answer.holds(METRICS).then_some("an answer holds the server's metrics")
    }
}

/// Plants an object of every kind that can be created without prerequisites, in the other namespace and
/// cluster-scoped.
pub async fn plant(lab: &Lab, resources: &[Resource]) -> Result<Planted> {
    let mut admin = lab.admin()?;
    let planted = Planted { canary: lab.canary.clone(), shared: lab.canary.to_uppercase() };
    for resource in resources.iter().filter(|one| one.verbs.contains("create") && one.verbs.contains("list"))
    {
        if ["customresourcedefinitions", "apiservices", "namespaces"].contains(&resource.plural.as_str()) {
            continue;
        }
        let note = if resource.plural == "configmaps" { &planted.shared } else { &planted.canary };
        let mut object = json!({
            "apiVersion": resource.api_version(), "kind": resource.kind,
            "metadata": {"name": PLANTED, "annotations": {"note": note}},
        });
        match resource.plural.as_str() {
            "secrets" => object["stringData"] = json!({"word": note}),
            "configmaps" => object["data"] = json!({"word": note}),
            "pods" => object["spec"] = json!({"containers": [{"name": "c", "image": note}]}),
            "services" => object["spec"] = json!({"ports": [{"port": 80}]}),
            _ => {}
        }
        let ask =
            Ask::new(Method::POST, resource.collection(OTHER)).body("application/json", object.to_string());
        admin.send(&ask).await?;
    }
    Ok(planted)
}

/// Runs the scenario.
pub async fn run(options: &Options) -> Result<Broken> {
    let lab = Lab::start(options).await?;
    lab.furnish().await?;
    let mut admin = lab.admin()?;
    let resources = resources(&mut admin).await?;
    ensure!(resources.len() > 40, "discovery names only {} resources", resources.len());
    let planted = plant(&lab, &resources).await?;
    let before = snapshot(&mut admin, &resources).await?;
    let mut cases = cases(&resources, &before);
    shuffle(&mut cases, options.seed);
    let mut callers = BTreeMap::new();
    for account in ACCOUNTS {
        let caller = match account.name {
            "anonymous" => lab.endpoint.caller(None)?,
            name => lab.account(name).await?,
        };
        callers.insert(account.name, caller);
    }
    let count = cases.len();
    let share = count.div_ceil(WORKERS);
    let work = cases.chunks(share).map(|part| ask_all(part, callers.clone(), &resources, &planted));
    let mut broken = Broken::default();
    let mut sent = 0;
    for outcome in futures::future::join_all(work).await {
        let (found, done) = outcome?;
        sent += done;
        broken.extend(found);
    }
    let after = snapshot(&mut admin, &resources).await?;
    for difference in differences(&before, &after) {
        broken.add(format!("somebody without permission changed something: {difference}"));
    }
    creating_by_patch(&lab, &mut broken).await?;
    broken.figures = format!(
        "{sent} requests by {} accounts, {} resources, {} objects compared",
        ACCOUNTS.len(),
        resources.len(),
        before.len()
    );
    Ok(broken)
}

/// Returns the requests of each account.
fn cases(resources: &[Resource], objects: &BTreeMap<String, Value>) -> Vec<(usize, Case)> {
    let mut cases = paths::others();
    for resource in resources {
        let existing = existing(resource, objects);
        cases.extend(paths::routes(resource, &existing));
        cases.extend(paths::mutations(resource, &existing));
    }
    let accounts = 0..ACCOUNTS.len();
    accounts.flat_map(|account| cases.iter().map(move |case| (account, case.clone()))).collect()
}

/// Returns the name of an existing object outside of the tenant's namespace.
fn existing(resource: &Resource, objects: &BTreeMap<String, Value>) -> String {
    let start = format!("{}/{} ", resource.root(), resource.plural);
    let all: Vec<&Value> =
        objects.iter().filter(|(place, _)| place.starts_with(&start)).map(|(_, object)| object).collect();
    let name = |object: &&Value| text(&object["metadata"]["name"]).to_owned();
    let in_other = all.iter().find(|object| object["metadata"]["namespace"] == OTHER);
    if resource.plural == "namespaces" {
        return OTHER.to_owned();
    }
    in_other.or_else(|| all.first().filter(|_| !resource.is_namespaced)).map_or(PLANTED.to_owned(), name)
}

/// Shuffles a slice in an order determined by the seed.
pub fn shuffle<T>(all: &mut [T], seed: u64) {
    let random = Random::seeded(seed);
    for last in (1..all.len()).rev() {
        let other = usize::try_from(random.number() % (last as u64 + 1)).unwrap_or_default();
        all.swap(last, other);
    }
}

async fn ask_all(
    cases: &[(usize, Case)],
    callers: BTreeMap<&'static str, Caller>,
    resources: &[Resource],
    planted: &Planted,
) -> Result<(Broken, usize)> {
    let mut callers = callers;
    let mut broken = Broken::default();
    for (account, case) in cases {
        let account = &ACCOUNTS[*account];
        let meaning = meaning(case.ask.method.as_str(), &case.ask.target);
        let may = account.may(&meaning);
        let mut ask = case.ask.clone();
        let changes = !["GET", "HEAD", "OPTIONS"].contains(&ask.method.as_str());
        if is_allowed(&meaning, may, resources) && changes && !ask.target.contains("dryRun") {
            // Allowed requests are sent as dry run, so that every change comes from a forbidden one.
            ask.target.push_str(if ask.target.contains('?') { "&dryRun=All" } else { "?dryRun=All" });
        }
        if ask.target.contains("watch") {
            ask.listen = Some(LISTEN);
        }
        let Some(caller) = callers.get_mut(account.name) else { continue };
        // Targets that are not valid HTTP are not sent.
        if ask.target.parse::<http::uri::PathAndQuery>().is_err() {
            continue;
        }
        let answer = caller.send(&ask).await?;
        if let Some(why) = judge(account, case, &meaning, may, &answer, resources, planted) {
            let (name, code) = (account.name, answer.code);
            let said = if code >= 500 { answer.text() } else { String::new() };
            broken.add(format!("{name} {} {}: {code} {why} {said}", ask.method, ask.target));
        }
    }
    Ok((broken, cases.len()))
}

/// Returns whether the account may send this request and its path exists.
fn is_allowed(meaning: &Meaning, may: bool, resources: &[Resource]) -> bool {
    may && match meaning {
        Meaning::Resource(means) => is_route(resources, means),
        Meaning::Other { .. } => true,
    }
}

/// Returns the violation in a response, if any.
fn judge(
    account: &Account,
    case: &Case,
    meaning: &Meaning,
    may: bool,
    answer: &Answer,
    resources: &[Resource],
    planted: &Planted,
) -> Option<&'static str> {
    if let Some(why) = planted.seen(account.name, answer) {
        return Some(why);
    }
    if is_fault(answer) {
        return Some("is the server's fault");
    }
    if !may {
        let is_refusal = [401, 403, 404, 405].contains(&answer.code);
        // A request that no regular client sends may also be refused as malformed.
        let is_malformed = !case.is_plain && answer.code == 400;
        return (!is_refusal && !is_malformed).then_some("where the account may not");
    }
    if let Meaning::Resource(means) = meaning
        && !is_route(resources, means)
    {
        return answer.is_done().then_some("where there is no such route");
    }
    (case.is_plain && answer.code == 403 && !is_escalation(answer)).then_some("where the account may do this")
}

/// Texts of errors that kube-apiserver reports with code 500, too.
const FAULTS: &[&str] = &[
    "strconv.ParseUint: parsing",
    "unsupported role reference kind",
    "content is not a list",
    "failed to create typed patch object",
    "failed to prune fields",
    "field not declared in schema",
    // Objects that etcd does not store.
    "etcdserver: request is too large",
    "trying to send message larger than max",
    // Errors of a Service's proxy.
    "no endpoints available for service",
    // Errors of a Binding.
    "target.kind: Unsupported value",
    "target.name: Required value",
    // Errors of a strategic merge patch.
    "unknown patch type",
    "list element types are not identical",
    "cannot merge lists without merge key",
    "does not contain declared merge key",
    "merging lists cannot yet be specified",
    "expected a []interface",
    "value for key",
    "doesn't match $setElementOrder list",
];

/// Returns whether the server reports an internal error for a mistake of the client. 501, 504 and 507 are
/// legitimate: a method that the API does not have; a request that took longer than its time-out; a full
/// store.
pub fn is_fault(answer: &Answer) -> bool {
    answer.code >= 500
        && ![501, 504, 507].contains(&answer.code)
        && !FAULTS.iter().any(|known| answer.holds(known))
}

/// Returns whether the refusal comes from the escalation check rather than from the route's permission.
fn is_escalation(answer: &Answer) -> bool {
    answer.holds("escalat")
        || answer.holds("is attempting to grant")
        || answer.holds("is not allowed to bind")
}

/// Checks that an account that may patch but not create cannot create objects by patches or updates.
async fn creating_by_patch(lab: &Lab, broken: &mut Broken) -> Result<()> {
    let mut patcher = lab.account("patcher").await?;
    let path = format!("/api/v1/namespaces/{MINE}/configmaps/new");
    let object =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "new"}, "data": {"a": "b"}});
    let kinds = [
        "application/apply-patch+yaml",
        "application/merge-patch+json",
        "application/strategic-merge-patch+json",
    ];
    let patches = kinds.iter().map(|kind| {
        Ask::new(Method::PATCH, format!("{path}?fieldManager=patcher")).body(kind, object.to_string())
    });
    let put = Ask::new(Method::PUT, path.clone()).body("application/json", object.to_string());
    for ask in patches.chain([put]) {
        let answer = patcher.send(&ask).await?;
        if answer.is_done() {
            broken.add(format!(
                "patcher {} {}: {} where it may not create",
                ask.method, ask.target, answer.code
            ));
        }
    }
    let answer = lab.admin()?.send(&Ask::new(Method::GET, path)).await?;
    if answer.code != 404 {
        broken.add(format!(
            "an account that may not create made a ConfigMap: {}",
            items(&answer.json()).count()
        ));
    }
    Ok(())
}
