//! The unified difference of two texts for errors, with the longest common runs of lines and three lines of context.

use std::collections::BTreeMap;

use crate::limits::{DIFFERENCE_LINES_MAX, DIFFERENCE_WORK_MAX};

/// Number of lines of context around a change.
const CONTEXT: usize = 3;
/// In texts with at least this many lines, frequent lines cannot begin a run.
const LONG: usize = 200;

/// A run of equal lines: its start in both texts and its length.
type Run = (usize, usize, usize);

/// A step from the lines of the old text to those of the new text.
#[derive(Clone, Copy)]
struct Step {
    equal: bool,
    old: (usize, usize),
    new: (usize, usize),
}

/// Returns the difference between `old` and `new`. It is empty if they are equal or the texts are too large.
pub fn unified(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    if old.len().max(new.len()) > DIFFERENCE_LINES_MAX {
        return String::new();
    }
    let Some(runs) = runs(&old, &new) else { return String::new() };
    let mut text = String::new();
    for group in groups(&steps(&runs)) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let range = |start: usize, end: usize| match end - start {
            1 => format!("{}", start + 1),
            0 => format!("{start},0"),
            length => format!("{},{length}", start + 1),
        };
        text += &format!("@@ -{} +{} @@\n", range(first.old.0, last.old.1), range(first.new.0, last.new.1));
        for step in group {
            let mut lines = |mark: char, lines: &[&str]| {
                lines.iter().for_each(|line| text += &format!("{mark}{line}\n"));
            };
            if step.equal {
                lines(' ', &old[step.old.0..step.old.1]);
            } else {
                lines('-', &old[step.old.0..step.old.1]);
                lines('+', &new[step.new.0..step.new.1]);
            }
        }
    }
    text
}

/// Returns the common runs of both texts in order, with an empty run at the end, or `None` if this exceeds the work
/// limit.
fn runs(old: &[&str], new: &[&str]) -> Option<Vec<Run>> {
    let mut work = 0;
    let mut places: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, line) in new.iter().enumerate() {
        places.entry(line).or_default().push(at);
    }
    if new.len() >= LONG {
        places.retain(|_, found| found.len() <= new.len() / 100 + 1);
    }
    let mut found: Vec<Run> = Vec::new();
    let mut open = vec![(0, old.len(), 0, new.len())];
    while let Some((from, to, new_from, new_to)) = open.pop() {
        let (at, new_at, length) = longest(old, new, &places, (from, to, new_from, new_to), &mut work);
        if work > DIFFERENCE_WORK_MAX {
            return None;
        }
        if length == 0 {
            continue;
        }
        found.push((at, new_at, length));
        if from < at && new_from < new_at {
            open.push((from, at, new_from, new_at));
        }
        if at + length < to && new_at + length < new_to {
            open.push((at + length, to, new_at + length, new_to));
        }
    }
    found.sort_unstable();
    let mut joined: Vec<Run> = Vec::new();
    for (at, new_at, length) in found {
        match joined.last_mut() {
            Some(last) if last.0 + last.2 == at && last.1 + last.2 == new_at => last.2 += length,
            _ => joined.push((at, new_at, length)),
        }
    }
    joined.push((old.len(), new.len(), 0));
    Some(joined)
}

fn longest(
    old: &[&str],
    new: &[&str],
    places: &BTreeMap<&str, Vec<usize>>,
    (from, to, new_from, new_to): (usize, usize, usize, usize),
    work: &mut usize,
) -> Run {
    let mut best = (from, new_from, 0);
    let mut lengths: BTreeMap<usize, usize> = BTreeMap::new();
    for (at, line) in old.iter().enumerate().take(to).skip(from) {
        let mut next = BTreeMap::new();
        *work += 1 + places.get(line).map_or(0, Vec::len);
        if *work > DIFFERENCE_WORK_MAX {
            return best;
        }
        let found = places.get(line).into_iter().flatten();
        for new_at in found.copied().filter(|new_at| (new_from..new_to).contains(new_at)) {
            let before = new_at.checked_sub(1).and_then(|before| lengths.get(&before)).copied().unwrap_or(0);
            let length = before + 1;
            next.insert(new_at, length);
            if length > best.2 {
                best = (at + 1 - length, new_at + 1 - length, length);
            }
        }
        lengths = next;
    }
    while best.0 > from && best.1 > new_from && old[best.0 - 1] == new[best.1 - 1] {
        best = (best.0 - 1, best.1 - 1, best.2 + 1);
    }
    while best.0 + best.2 < to && best.1 + best.2 < new_to && old[best.0 + best.2] == new[best.1 + best.2] {
        best.2 += 1;
    }
    best
}

fn steps(runs: &[Run]) -> Vec<Step> {
    let (mut at, mut new_at) = (0, 0);
    let mut steps = Vec::new();
    for &(start, new_start, length) in runs {
        if at < start || new_at < new_start {
            steps.push(Step { equal: false, old: (at, start), new: (new_at, new_start) });
        }
        (at, new_at) = (start + length, new_start + length);
        if length > 0 {
            steps.push(Step { equal: true, old: (start, at), new: (new_start, new_at) });
        }
    }
    steps
}

/// Groups changes that are near each other, with their context.
fn groups(steps: &[Step]) -> Vec<Vec<Step>> {
    let mut groups: Vec<Vec<Step>> = Vec::new();
    let mut group: Vec<Step> = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        if !step.equal {
            group.push(*step);
            continue;
        }
        let (old, new) = (step.old, step.new);
        let (first, last) = (index == 0, index + 1 == steps.len());
        let head = (old.0, old.1.min(old.0 + CONTEXT));
        let new_head = (new.0, new.1.min(new.0 + CONTEXT));
        let tail = (old.0.max(old.1.saturating_sub(CONTEXT)), old.1);
        let new_tail = (new.0.max(new.1.saturating_sub(CONTEXT)), new.1);
        if first {
            group.push(Step { equal: true, old: tail, new: new_tail });
        } else if last {
            group.push(Step { equal: true, old: head, new: new_head });
        } else if old.1 - old.0 > 2 * CONTEXT {
            group.push(Step { equal: true, old: head, new: new_head });
            groups.push(std::mem::take(&mut group));
            group.push(Step { equal: true, old: tail, new: new_tail });
        } else {
            group.push(*step);
        }
    }
    groups.push(group);
    groups.retain(|group| group.iter().any(|step| !step.equal));
    groups
}
