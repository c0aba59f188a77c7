//! The log of requests. `tracing` remembers for a whole process which lines are wanted, by the thread that comes first: so no other test of this
//! program runs a server in its process.

use std::io::Write;
use std::sync::{Arc, Mutex};

use http::header::HOST;
use tracing_subscriber::fmt::MakeWriter;

use crate::common::Harness;

#[tokio::test]
async fn the_log_says_who_asked_for_what_and_how_it_was_answered() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt().json().with_span_list(false).with_writer(log.clone());
    let guard = tracing::subscriber::set_default(subscriber.with_max_level(tracing::Level::DEBUG).finish());
    let harness = Harness::new().await;
    let path = "/api/v1/namespaces/default/configmaps/none?pretty=true";
    let headers = [("audit-id", "mine"), ("impersonate-user", "alice"), ("authorization", "Basic c2VjcmV0")];
    let refused = harness.call("GET", path, &headers, b"").await;
    assert_eq!(refused.code, 403, "{}", refused.text());
    harness.call("GET", "/version", &[(HOST.as_str(), "here")], b"").await;
    drop(guard);
    let lines = log.lines();
    let [refused, version] = lines.as_slice() else { panic!("{lines:#?}") };
    assert_eq!(refused["fields"]["user"], "admin");
    assert_eq!(refused["fields"]["impersonated"], "alice");
    assert_eq!(refused["fields"]["code"], 403);
    let expected = serde_json::json!({
        "name": "request", "audit_id": "mine", "verb": "get", "group": "", "resource": "configmaps",
        "subresource": "", "namespace": "default", "object": "none",
    });
    assert_eq!(refused["span"], expected);
    assert_eq!(version["span"]["path"], "/version");
    assert_eq!(version["fields"]["code"], 200);
    assert!(!log.text().contains("c2VjcmV0"), "{}", log.text());
}

/// A log in memory.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }

    /// Returns the events of answered requests.
    fn lines(&self) -> Vec<serde_json::Value> {
        let text = self.text();
        let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
        lines.filter(|line: &serde_json::Value| line["fields"]["message"] == "answered").collect()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}
