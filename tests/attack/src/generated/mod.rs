//! Sends random requests by unprivileged accounts. None may crash the process, cause a server error, or read
//! or change other users' objects.

mod grammar;

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use machinery::random::Random;
use serde_json::{Value, json};

use self::grammar::Grammar;
use crate::caller::Caller;
use crate::lab::{Lab, MINE, Options, grant};
use crate::report::Broken;
use crate::routes::{Planted, Resource, is_fault, plant, resources, snapshot};

/// The accounts; each occurrence has its own connection.
const ACCOUNTS: &[&str] = &["anonymous", "plain", "tenant", "tenant", "tenant", "tenant", "tenant", "reader"];
/// How long a stream is read.
const LISTEN: Duration = Duration::from_millis(100);
/// After this many requests the tenant gets its role again, since it may have deleted it.
const RENEW: u64 = 20;

/// Runs the scenario.
pub async fn run(options: &Options) -> Result<Broken> {
    let mut lab = Lab::start(options).await?;
    lab.furnish().await?;
    let mut admin = lab.admin()?;
    let resources = resources(&mut admin).await?;
    let planted = plant(&lab, &resources).await?;
    let before = snapshot(&mut admin, &resources).await?;
    // The tenant may see objects that it creates itself.
    let encoded = STANDARD.encode(&planted.canary);
    let hide = |object: &Value| {
        let text = object.to_string().replace(&encoded, "eA==");
        text.replace(&planted.canary, "x").replace(&planted.shared, "x")
    };
    let models: BTreeMap<String, Value> = before
        .iter()
        .filter_map(|(place, object)| Some((place.clone(), serde_json::from_str(&hide(object)).ok()?)))
        .collect();
    let mut work = Vec::new();
    for (index, account) in ACCOUNTS.iter().enumerate() {
        let caller = match *account {
            "anonymous" => lab.endpoint.caller(None)?,
            name => lab.account(name).await?,
        };
        let seed = options.seed.wrapping_add(index as u64);
        let count = options.requests / ACCOUNTS.len() as u64;
        work.push(ask(
            account,
            caller,
            lab.admin()?,
            Random::seeded(seed),
            count,
            (&resources, &models),
            &planted,
        ));
    }
    let mut broken = Broken::default();
    let mut codes = Counted::new();
    for outcome in futures::future::join_all(work).await {
        let (found, counted) = outcome?;
        broken.extend(found);
        for (code, count) in counted {
            *codes.entry(code).or_default() += count;
        }
    }
    if let Some(why) = lab.ended()? {
        broken.add(format!("the process ended: {why}"));
    } else {
        let after = snapshot(&mut admin, &resources).await?;
        let is_others = |place: &String| {
            !place.contains(&format!(" {MINE}/")) && !place.ends_with(&format!("namespaces /{MINE}"))
        };
        for (place, object) in before.iter().filter(|(place, _)| is_others(place)) {
            if after.get(place) != Some(object) {
                broken.add(format!("somebody without permission changed {place}"));
            }
        }
        for place in after.keys().filter(|place| is_others(place) && !before.contains_key(*place)) {
            broken.add(format!("somebody without permission made {place}"));
        }
    }
    let memory = lab.memory().map(|(_, peak)| peak >> 20).unwrap_or_default();
    broken.figures = format!("{} requests ({codes:?}), at most {memory} MB", codes.values().sum::<usize>());
    Ok(broken)
}

type Counted = BTreeMap<u16, usize>;

async fn ask(
    account: &str,
    mut caller: Caller,
    mut admin: Caller,
    random: Random,
    count: u64,
    (resources, objects): (&[Resource], &BTreeMap<String, Value>),
    planted: &Planted,
) -> Result<(Broken, Counted)> {
    let mut broken = Broken::default();
    let mut codes = Counted::new();
    let grammar = Grammar { random, resources, objects };
    for number in 0..count {
        if account == "tenant" && number % RENEW == 0 {
            let everything = json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]);
            // While the namespace is being deleted, nothing can be created in it.
            let _gone = grant(&mut admin, Some(MINE), "tenant", everything).await;
        }
        let mut ask = grammar.ask();
        // Requests that are not valid HTTP are not sent.
        if ask.target.parse::<http::uri::PathAndQuery>().is_err() {
            continue;
        }
        // A namespace in deletion accepts no new objects, so the tenant would have little left to try.
        let path = ask.target.split('?').next().unwrap_or_default().trim_end_matches('/').to_lowercase();
        if ask.method == Method::DELETE
            && (path.ends_with("/namespaces/mine") || path.ends_with("/namespaces"))
        {
            continue;
        }
        ask.listen = Some(LISTEN);
        let answer = match caller.send(&ask).await {
            Ok(answer) => answer,
            Err(error) => {
                broken.add(format!(
                    "{account} {} {} {:?}: no answer: {error:#}",
                    ask.method, ask.target, ask.headers
                ));
                if admin.get("/version").await.is_err() {
                    break;
                }
                continue;
            }
        };
        *codes.entry(answer.code).or_default() += 1;
        let seen = planted.seen(account, &answer);
        // A HEAD has no body; the same request as GET is checked.
        let is_fault = ask.method != Method::HEAD && is_fault(&answer);
        if let Some(why) = seen.or(is_fault.then_some("is the server's fault")) {
            let body = String::from_utf8_lossy(&ask.body).chars().take(400).collect::<String>();
            let headers: Vec<String> =
                ask.headers.iter().map(|(name, value)| format!("{name}: {}", value.escape_ascii())).collect();
            broken.add(format!(
                "{account} {} {} {headers:?} {body}: {} {why}: {}",
                ask.method,
                ask.target,
                answer.code,
                answer.text()
            ));
        }
    }
    Ok((broken, codes))
}
