//! Keeps the values of variables out of messages: an error about a component may repeat what a variable has put there.

use crate::observe::Observed;

/// The shortest value that is taken out. A shorter one is no secret, and every message would have holes.
const SHORTEST: usize = 4;

/// The values that nobody may read.
pub(crate) struct Redaction(Vec<(String, String)>);

impl Redaction {
    /// The values of the object's Secret.
    pub fn of(seen: &Observed) -> Self {
        let mut values: Vec<(String, String)> = seen
            .variables()
            .into_iter()
            .map(|(name, value)| (name.to_owned(), String::from_utf8_lossy(value).trim().to_owned()))
            .filter(|(_, value)| value.len() >= SHORTEST)
            .collect();
        // A value may contain another one.
        values.sort_by_key(|(_, value)| std::cmp::Reverse(value.len()));
        Self(values)
    }

    /// Returns the text with the names of the variables in the places of their values.
    pub fn text(&self, text: &str) -> String {
        let hide = |text: String, (name, value): &(String, String)| text.replace(value, &format!("[{name}]"));
        self.0.iter().fold(text.to_owned(), hide)
    }
}
