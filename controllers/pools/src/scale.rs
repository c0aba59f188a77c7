//! How many machines a pool gets, and which ones go. Pure.
//!
//! Invariant: as long as a pool replaces machines, no deletion leaves it with fewer ready machines than it wants. Cluster API's provider
//! deletes the old ones as soon as the new containers run, before their Nodes are ready.

use crate::observed::{Member, Observed};

/// What changes.
pub(crate) struct Scale<'a> {
    /// The number of machines to create.
    pub create: usize,
    /// The machines to delete.
    pub delete: Vec<&'a Member>,
}

/// Creates missing machines, deletes surplus ones, and replaces outdated ones: one by one, each after another one is ready.
pub(crate) fn scale(observed: &Observed) -> Scale<'_> {
    let wanted = observed.wanted();
    let mut staying: Vec<&Member> = observed.members.iter().filter(|member| !member.goes()).collect();
    staying.sort_by_key(|member| (!member.is_asked(), member.is_ready(), member.dev.metadata.name.clone()));
    if staying.len() < wanted {
        return Scale { create: wanted - staying.len(), delete: Vec::new() };
    }
    let (outdated, current): (Vec<&Member>, Vec<&Member>) =
        staying.into_iter().partition(|member| member.is_outdated);
    let mut delete: Vec<&Member> =
        current.iter().take(current.len().saturating_sub(wanted)).copied().collect();
    let staying = &current[delete.len()..];
    delete.extend(surplus(&outdated, staying, wanted));
    let are_ready = staying.iter().all(|member| member.is_ready());
    // One that goes still has its resources, so there is never more than one machine too many.
    let replaces = delete.is_empty() && !outdated.is_empty() && are_ready && observed.members.len() == wanted;
    Scale { create: usize::from(replaces), delete }
}

/// Returns the outdated machines that are not needed any more.
fn surplus<'a>(outdated: &[&'a Member], staying: &[&Member], wanted: usize) -> Vec<&'a Member> {
    let mut surplus = (outdated.len() + staying.len()).saturating_sub(wanted);
    let mut ready = outdated.iter().chain(staying).filter(|member| member.is_ready()).count();
    let mut delete = Vec::new();
    for member in outdated {
        let is_needed = (member.is_ready() || member.is_out_of_sight()) && ready <= wanted;
        if surplus > 0 && !is_needed {
            surplus -= 1;
            ready -= usize::from(member.is_ready());
            delete.push(*member);
        }
    }
    delete
}
