//! Replays cases and reports their results.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Result, anyhow};
use serde_json::{Value, json};

use crate::compare::{self, Difference};
use crate::fixtures;
use crate::model::{Case, Fixtures, Golden, Response, Step, Wait};
use crate::normalise::{self, Fresh};
use crate::paths;
use crate::plane::{Ask, Plane, escape_parameter};
use crate::read;
use crate::substitute::{self, Values};
use crate::wait;

const PAUSE: Duration = Duration::from_millis(50);
const WAIT_DEFAULT_SECONDS: f64 = 10.0;

/// The result of a case: the differences of each step, by its number (from 1); empty if it passed.
#[derive(Debug, Clone)]
pub struct Verdict {
    /// The name of the case.
    pub case: String,
    /// Steps with differences: number, request line, differences.
    pub steps: Vec<(usize, String, Vec<Difference>)>,
}

/// Replays the cases selected by `choose`, with the topics in parallel. The verdicts of a topic are in the
/// order of its recording.
///
/// # Errors
/// Fails if recordings cannot be read, or a server does not start.
pub fn topics(
    golden: &Golden,
    choose: impl Fn(&Case) -> bool + Sync,
) -> Result<BTreeMap<String, Vec<Verdict>>> {
    let fixtures = golden.fixtures()?;
    let queue: Mutex<VecDeque<String>> = Mutex::new(golden.topics()?.into());
    let found = Mutex::new(BTreeMap::new());
    let work = || -> Result<()> {
        loop {
            let topic = queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            let Some(topic) = topic else { return Ok(()) };
            let mut cases = golden.cases(&topic)?;
            cases.retain(&choose);
            if !cases.is_empty() {
                let verdicts = replay(&cases, &fixtures)?;
                found.lock().unwrap_or_else(PoisonError::into_inner).insert(topic, verdicts);
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().map_err(|_| anyhow!("a replay panicked"))?)
    })?;
    Ok(found.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Replays cases one after the other against their own server.
///
/// # Errors
/// Fails if the server does not start.
pub fn replay(cases: &[Case], fixtures: &Fixtures) -> Result<Vec<Verdict>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build()?;
    runtime.block_on(async {
        let plane = Plane::start(1).await?;
        let failed = fixtures::create(&plane, fixtures, cases).await;
        let mut verdicts = Vec::new();
        for case in cases {
            let answers = match case.setup.iter().find_map(|name| failed.get(name)) {
                Some(why) => vec![trouble(why.clone()); case.steps.len()],
                None => one(&plane, case).await,
            };
            verdicts.push(judge(case, &answers));
        }
        Ok(verdicts)
    })
}

fn judge(case: &Case, answers: &[Response]) -> Verdict {
    let mut steps = Vec::new();
    for (index, (step, answer)) in case.steps.iter().zip(answers).enumerate() {
        let differences = compare::answers(step.compare.as_ref(), &step.response, answer);
        if !differences.is_empty() {
            steps.push((index + 1, format!("{} {}", step.method, step.path), differences));
        }
    }
    Verdict { case: case.name.clone(), steps }
}

fn trouble(text: String) -> Response {
    Response { trouble: vec![text], ..Response::default() }
}

/// Returns the normalised responses to the steps of a case.
async fn one(plane: &Plane, case: &Case) -> Vec<Response> {
    let namespace = format!("ns{}", plane.random.characters(b"bcdfghjklmnpqrstvwxz2456789", 10));
    let manifest = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
    let made = plane.json(Ask::post("/api/v1/namespaces", &manifest)).await;
    let mut values = Values::from([("ns".to_owned(), namespace.clone())]);
    let mut answers = Vec::new();
    for step in &case.steps {
        answers.push(take_step(plane, step, &mut values).await);
    }
    if let Some(first) = answers.first_mut() {
        match made {
            Ok((201, _)) => {}
            other => first.response.trouble.push(format!("namespace: {other:?}")),
        }
    }
    let literal: String =
        case.steps.iter().map(|step| serde_json::to_string(step).unwrap_or_default()).collect();
    let mut normal = normalise::case(&namespace, &literal, plane.clock.now(), &answers);
    for (step, answer) in case.steps.iter().zip(&mut normal) {
        for path in step.compare.iter().flat_map(|rules| &rules.ignore) {
            ignore(answer, path);
        }
    }
    normal
}

/// Removes `path` from a response, as was done for the recording.
fn ignore(answer: &mut Response, path: &str) {
    let segments = paths::split(path);
    paths::remove(&mut answer.body, &segments);
    for event in &mut answer.events {
        if segments.first().is_some_and(|first| first == "object") {
            paths::remove(event, &segments);
        } else if let Some(object) = event.get_mut("object") {
            paths::remove(object, &segments);
        }
    }
    match path {
        "warnings" => answer.warnings.clear(),
        "contentType" => answer.content_type.clear(),
        _ => {}
    }
}

async fn take_step(plane: &Plane, step: &Step, values: &mut Values) -> Fresh {
    let mut early = Vec::new();
    if let Some(condition) = &step.wait
        && let Err(error) = wait_for(plane, condition, step, values).await
    {
        early.push(error.to_string());
    }
    let path = substitute::text(&step.path, values);
    let (target, query) = target(&path, step, values);
    let body = match (&step.body_text, &step.body) {
        (Some(text), _) => Some(substitute::text(text, values).into()),
        (None, Value::Null) => None,
        (None, body) => Some(substitute::value(body, values).to_string().into()),
    };
    let headers =
        step.headers.iter().map(|(name, value)| (name.clone(), substitute::text(value, values))).collect();
    let ask = Ask { method: &step.method, target, headers, body };
    let mut response = match plane.send(ask, step.impersonate.as_ref(), values).await {
        Ok(answer) => read::answer(answer, step.watch.as_ref(), &plane.clock).await,
        Err(error) => trouble(format!("request failed: {error:#}")),
    };
    let events = json!({"events": response.events});
    let saved = if response.events.is_empty() { &response.body } else { &events };
    for (name, path) in &step.save {
        match paths::lookup(saved, path) {
            Some(found) => drop(values.insert(name.clone(), paths::scalar(found))),
            None => early.push(format!("save {name}: nothing at {path}")),
        }
    }
    response.trouble.splice(0..0, early);
    Fresh { response, collection: is_collection(&path), query }
}

/// Returns path and query of a request, and its query parameters (the first value of repeated ones).
fn target(path: &str, step: &Step, values: &Values) -> (String, BTreeMap<String, String>) {
    let mut pairs = Vec::new();
    for (name, value) in &step.query {
        match value {
            Value::Array(all) => pairs.extend(all.iter().map(|one| (name.clone(), paths::scalar(one)))),
            one => pairs.push((name.clone(), paths::scalar(one))),
        }
    }
    let mut query = BTreeMap::new();
    let mut encoded = Vec::new();
    for (name, value) in pairs {
        let value = substitute::text(&value, values);
        encoded.push(format!("{}={}", escape_parameter(&name), escape_parameter(&value)));
        query.entry(name).or_insert(value);
    }
    let (_, written) = path.split_once('?').unwrap_or_default();
    for (name, value) in written.split('&').filter_map(|pair| pair.split_once('=')) {
        query.entry(name.to_owned()).or_insert_with(|| value.to_owned());
    }
    if encoded.is_empty() {
        return (path.to_owned(), query);
    }
    let separator = if path.contains('?') { '&' } else { '?' };
    (format!("{path}{separator}{}", encoded.join("&")), query)
}

/// Returns whether a path names a collection of resources.
pub fn is_collection(path: &str) -> bool {
    let path = path.split('?').next().unwrap_or_default();
    let segments: Vec<&str> = path.trim_matches('/').split('/').collect();
    let rest = match segments.as_slice() {
        ["api", _, rest @ ..] | ["apis", _, _, rest @ ..] => rest,
        _ => return false,
    };
    match rest {
        ["namespaces", _, "status" | "finalize"] => false,
        ["namespaces", _, _] | [_] => true,
        _ => false,
    }
}

async fn wait_for(plane: &Plane, condition: &Wait, step: &Step, values: &Values) -> Result<()> {
    let seconds = if condition.seconds > 0.0 { condition.seconds } else { WAIT_DEFAULT_SECONDS };
    let limit = Duration::from_secs_f64(seconds);
    if condition.path.is_empty() {
        plane.clock.sleep(limit).await;
        return Ok(());
    }
    let deadline = plane.clock.monotonic() + limit;
    let until = substitute::text(&condition.until, values);
    // The condition is checked as the step's user, but always in JSON.
    let own = |name: &&String| !["content-type", "accept"].contains(&name.to_ascii_lowercase().as_str());
    let headers: BTreeMap<String, String> = (step.headers.iter())
        .filter(|(name, _)| own(name))
        .map(|(name, value)| (name.clone(), substitute::text(value, values)))
        .collect();
    loop {
        let target = substitute::text(&condition.path, values);
        let ask = Ask { method: "GET", target, headers: headers.clone(), body: None };
        let answer = plane.send(ask, step.impersonate.as_ref(), values).await?;
        let mut answer = read::answer(answer, None, &plane.clock).await;
        // Some endpoints serve JSON as text.
        if answer.body.is_null() {
            answer.body = serde_json::from_str(&answer.text).unwrap_or_default();
        }
        let Err(last) = wait::met(&until, answer.code, &answer.body) else { return Ok(()) };
        if plane.clock.monotonic() > deadline {
            let Wait { path, until, .. } = condition;
            return Err(anyhow!("wait for {until} at {path} not met (last: {last})"));
        }
        plane.clock.sleep(PAUSE).await;
    }
}
