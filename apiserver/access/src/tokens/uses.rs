//! Which tokens that stand in Secrets are used, and on which day. Their Secrets get a label with the day, as from kube-apiserver, so that
//! somebody can find those that nobody uses.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use machinery::clock::{Clock, rfc3339};
use machinery::meta;
use parking_lot::Mutex;
use serde_json::Value;

/// The label of a Secret with the day on which its token was last used.
pub const LAST_USED: &str = "kubernetes.io/legacy-token-last-used";

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The use of a token whose Secret does not say it yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenUse {
    /// The namespace of the Secret.
    pub namespace: String,
    /// The name of the Secret.
    pub secret: String,
    /// The UID of the Secret.
    pub uid: String,
    /// The day, for example `2026-11-21`.
    pub day: String,
}

/// The uses that nobody has taken yet, one for each Secret.
#[derive(Default)]
pub(super) struct Uses {
    pending: Mutex<BTreeMap<String, TokenUse>>,
    /// Whether there are any, so that other requests ask for no lock.
    any: AtomicBool,
}

impl Uses {
    /// Notes that the token in a Secret is used. Tomorrow is as good as today, because another server's clock can be ahead.
    pub(super) fn note(&self, namespace: &str, secret: &Value, clock: &Clock) {
        let in_days = |days: u32| rfc3339(clock.now() + DAY * days).chars().take(10).collect::<String>();
        let (today, tomorrow) = (in_days(0), in_days(1));
        let label = meta::labels(secret).and_then(|labels| labels.get(LAST_USED)).and_then(Value::as_str);
        if label.is_some_and(|label| label == today || label == tomorrow) {
            return;
        }
        let (secret, uid) = (meta::name(secret).to_owned(), meta::uid(secret).to_owned());
        let one = TokenUse { namespace: namespace.to_owned(), secret, uid: uid.clone(), day: today };
        self.pending.lock().insert(uid, one);
        self.any.store(true, Ordering::Release);
    }

    /// Takes all uses.
    pub(super) fn take(&self) -> Vec<TokenUse> {
        // Every request passes here. The flag is only read as long as there are no uses, so that cores do not contend for it.
        if !self.any.load(Ordering::Acquire) || !self.any.swap(false, Ordering::AcqRel) {
            return Vec::new();
        }
        std::mem::take(&mut *self.pending.lock()).into_values().collect()
    }
}
