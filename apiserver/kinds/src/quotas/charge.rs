//! What quotas allow, and what is used of them: kube-apiserver's plugin `ResourceQuota`, and the amounts that the controller of quotas
//! counts.

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};

use super::amounts::{self, Amounts};
use super::counted::{Counted, count};
use crate::Subresource;

/// A write that quotas are asked about.
pub struct Write<'a> {
    /// The resource of the object.
    pub counted: Counted<'a>,
    /// What is written.
    pub part: Subresource,
    /// The object.
    pub object: &'a Value,
    /// The object before an update.
    pub old: Option<&'a Value>,
    /// The time of the write.
    pub now: DateTime<Utc>,
}

fn names(list: &Value) -> Vec<&str> {
    list.as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect()
}

impl Write<'_> {
    /// Returns what `status.used` of each quota has to be after the write; `None` for a quota that stays as it is.
    ///
    /// # Errors
    /// Why a quota refuses the write.
    pub fn charge(&self, quotas: &[Value]) -> Result<Vec<Option<Value>>, String> {
        let concerned: Vec<bool> =
            quotas.iter().map(|quota| self.concerns(quota)).collect::<Result<_, _>>()?;
        let each = quotas.iter().zip(concerned);
        each.map(|(quota, concerned)| if concerned { self.charge_one(quota) } else { Ok(None) }).collect()
    }

    fn is_about(&self, quota: &Value, object: &Value) -> bool {
        let counts = names(&quota["status"]["hard"]).iter().any(|name| self.counted.uses(name));
        counts && self.counted.is_in_scope(quota, object)
    }

    /// Returns whether a quota is about the object.
    fn concerns(&self, quota: &Value) -> Result<bool, String> {
        if !self.is_about(quota, self.object) {
            return Ok(false);
        }
        let name = machinery::meta::name(quota);
        let status = &quota["status"];
        let mut limited = names(&status["hard"]);
        limited.retain(|name| self.counted.uses(name));
        limited.sort_unstable();
        if let Some(why) = self.counted.unspecified(&limited, self.object) {
            return Err(format!("failed quota: {name}: {why}"));
        }
        if limited.iter().any(|name| status["used"][*name].is_null()) {
            return Err(format!("status unknown for quota: {name}, resources: {}", limited.join(",")));
        }
        Ok(true)
    }

    fn charge_one(&self, quota: &Value) -> Result<Option<Value>, String> {
        let status = &quota["status"];
        let (hard, mut used) = (amounts::read(&status["hard"]), amounts::read(&status["used"]));
        let mut requested = self.counted.usage(self.object, self.now);
        if let Some(old) = self.old.filter(|old| self.is_about(quota, old)) {
            subtract(&mut requested, &self.counted.usage(old, self.now));
        }
        requested.retain(|name, amount| amount.sign() != 0 && hard.contains_key(name));
        if requested.is_empty() {
            return Ok(None);
        }
        let before = used.clone();
        amounts::add(&mut used, &requested);
        let exceeded = |name: &String| {
            requested.contains_key(name)
                && used.get(name).is_some_and(|used| used.compare(&hard[name]).is_gt())
        };
        let exceeded: Vec<&String> = hard.keys().filter(|name| exceeded(name)).collect();
        if !exceeded.is_empty() && self.part != Subresource::Status {
            let shown = |amounts: &Amounts| {
                let each = exceeded.iter().filter_map(|name| Some(format!("{name}={}", amounts.get(*name)?)));
                each.collect::<Vec<_>>().join(",")
            };
            return Err(format!(
                "exceeded quota: {}, requested: {}, used: {}, limited: {}",
                machinery::meta::name(quota),
                shown(&requested),
                shown(&before),
                shown(&hard)
            ));
        }
        Ok(Some(written(&used)))
    }
}

/// Subtracts amounts. What is not positive then is nothing.
fn subtract(from: &mut Amounts, amounts: &Amounts) {
    from.retain(|name, amount| {
        if let Some(rest) = amounts.get(name).and_then(|less| amount.sub(less)) {
            *amount = rest;
        }
        amount.sign() > 0
    });
}

fn written(amounts: &Amounts) -> Value {
    let each = amounts.iter().map(|(name, amount)| (name.clone(), Value::from(amount.to_string())));
    Value::Object(each.collect::<Map<_, _>>())
}

/// What is used of a quota, counted anew.
pub struct Count<'a> {
    quota: &'a Value,
    used: Amounts,
}

impl<'a> Count<'a> {
    /// Begins to count for a quota. What nobody counts stays as it was.
    pub fn new(quota: &'a Value) -> Self {
        let mut used = amounts::read(&quota["status"]["used"]);
        used.retain(|name, _| !quota["spec"]["hard"][name].is_null());
        Self { quota, used }
    }

    /// Returns whether the quota counts a resource.
    pub fn includes(&self, counted: Counted<'_>) -> bool {
        names(&self.quota["spec"]["hard"]).iter().any(|name| counted.uses(name))
    }

    /// Counts all objects of a resource.
    pub fn objects(
        &mut self,
        counted: Counted<'_>,
        objects: impl Iterator<Item = Value>,
        now: DateTime<Utc>,
    ) {
        let mut found = Amounts::new();
        for object in objects.filter(|object| counted.is_in_scope(self.quota, object)) {
            amounts::add(&mut found, &counted.usage(&object, now));
        }
        self.set(counted, &found);
    }

    /// Counts all objects of a resource whose content does not matter.
    pub fn number(&mut self, counted: Counted<'_>, number: usize) {
        let is_in_scope = counted.is_in_scope(self.quota, &Value::Null);
        self.set(counted, &counted.number(if is_in_scope { number } else { 0 }));
    }

    fn set(&mut self, counted: Counted<'_>, found: &Amounts) {
        for name in names(&self.quota["spec"]["hard"]).into_iter().filter(|name| counted.uses(name)) {
            self.used.insert(name.to_owned(), found.get(name).copied().unwrap_or(count(0)));
        }
    }

    /// Returns the status that the quota has to have; `None` if it has it.
    pub fn status(&self) -> Option<Value> {
        let (hard, status) = (&self.quota["spec"]["hard"], &self.quota["status"]);
        let before = amounts::read(&status["used"]);
        let same = before.len() == self.used.len()
            && self
                .used
                .iter()
                .all(|(name, used)| before.get(name).is_some_and(|old| old.compare(used).is_eq()));
        let is_nothing = |list: &Value| list.as_object().is_none_or(Map::is_empty);
        let limits_nothing = is_nothing(hard) && is_nothing(&status["hard"]);
        let is_current = same && (limits_nothing || *hard == status["hard"]);
        (!is_current)
            .then(|| serde_json::json!({"hard": written(&amounts::read(hard)), "used": written(&self.used)}))
    }
}
