//! Figures of firstlight and of a peer.

use crate::bench::print;

/// Figures of server and peer, measured alternately.
pub struct Pair {
    name: String,
    unit: &'static str,
    /// The figures of the peer.
    pub peer: Vec<f64>,
    /// Our figures.
    pub ours: Vec<f64>,
}

impl Pair {
    /// Returns a pair without figures.
    pub fn new(name: impl Into<String>, unit: &'static str) -> Self {
        Self { name: name.into(), unit, peer: Vec::new(), ours: Vec::new() }
    }

    /// Prints a row of the table: the medians, their ratio, and the range of the ratios.
    pub fn print(&self) {
        let ratios: Vec<f64> = self.ours.iter().zip(&self.peer).map(|(ours, peer)| ours / peer).collect();
        let low = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        let high = ratios.iter().copied().fold(0.0, f64::max);
        let (peer, ours) = (median(&self.peer), median(&self.ours));
        let (name, unit) = (&self.name, self.unit);
        print(&format!(
            "| {name} | {peer:.1} {unit} | {ours:.1} {unit} | {:.2} | {low:.2}–{high:.2} |",
            ours / peer
        ));
    }
}

/// Returns the median, 0 of nothing.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}
