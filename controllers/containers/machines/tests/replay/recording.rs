//! Recordings of Cluster API's Dev provider with Docker: what others wrote, and what the provider wrote then. Pure.
//!
//! ```text
//! == a step: what was done
//! > Machine m {"spec": {"bootstrap": {"dataSecretName": "m"}}}
//! DevMachine m
//!   BootstrapCompleted=False/WaitingForCGroups
//!   ContainerProvisioned=True/Provisioned
//! ```
//!
//! `>` is a write of somebody else, as a merge patch; the first one of an object creates it. `owners` are kinds and names of owners, `deleted`
//! begins the deletion, and `gone` ends it. What comes before the first step is there when the recording begins. The other lines are one
//! write of the provider each, with the facts that it changed. A DevMachine whose first line is such a write is a machine of a pool.

use serde_json::Value;

/// A line of a recording.
#[derive(Debug, Clone, PartialEq)]
pub enum Line {
    /// A step begins.
    Step(String),
    /// Somebody else has written an object of this kind and name.
    Input(String, String, Value),
    /// The provider has written an object: kind and name, with the facts that have changed.
    Write(String, Vec<Fact>),
}

/// A fact about an object: a condition with its status and reason, or a field.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fact {
    /// Its name.
    pub name: String,
    /// Its value; of a condition status and reason.
    pub value: String,
    /// The message of a condition.
    pub message: String,
}

impl Fact {
    /// Returns name and value.
    pub fn line(&self) -> String {
        format!("{}={}", self.name, self.value)
    }
}

/// Parses a recording. Panics where a line says nothing.
pub fn parse(text: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        if let Some(step) = line.strip_prefix("== ") {
            lines.push(Line::Step(step.to_owned()));
        } else if let Some(input) = line.strip_prefix("> ") {
            let mut words = input.splitn(3, ' ').map(str::to_owned);
            let (Some(kind), Some(name), Some(patch)) = (words.next(), words.next(), words.next()) else {
                panic!("{line}")
            };
            lines.push(Line::Input(kind, name, serde_json::from_str(&patch).unwrap()));
        } else if let Some(fact) = line.strip_prefix("  ") {
            let Some(Line::Write(_, facts)) = lines.last_mut() else { panic!("{line}") };
            facts.push(self::fact(fact));
        } else {
            lines.push(Line::Write(line.to_owned(), Vec::new()));
        }
    }
    lines
}

fn fact(text: &str) -> Fact {
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    let (value, message) = match value.split_once(": ").filter(|(value, _)| value.contains('/')) {
        Some((value, message)) => (value, message),
        None => (value, ""),
    };
    Fact { name: name.to_owned(), value: value.to_owned(), message: message.replace("\\n", "\n") }
}

#[test]
fn a_recording_is_read() {
    let text = "# a\n== s: t\n> Machine m {\"deleted\": true}\nDevMachine m\n  address Hostname=m\n  Ready=True/Ready: a: b\\nc\n";
    let fact = |name: &str, value: &str, message: &str| Fact {
        name: name.to_owned(),
        value: value.to_owned(),
        message: message.to_owned(),
    };
    let expected = [
        Line::Step("s: t".to_owned()),
        Line::Input("Machine".to_owned(), "m".to_owned(), serde_json::json!({"deleted": true})),
        Line::Write(
            "DevMachine m".to_owned(),
            vec![fact("address Hostname", "m", ""), fact("Ready", "True/Ready", "a: b\nc")],
        ),
    ];
    assert_eq!(parse(text), expected);
}
