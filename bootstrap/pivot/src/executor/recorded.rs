//! Checks that the journal matches the requested operation.

use super::Options;
use crate::error::{Error, Result};
use crate::journal::{Journal, State};
use crate::server::Server;

/// The prefix of a source or target in a journal that is a directory.
pub(super) const DIRECTORY: &str = "directory ";

pub(super) fn refuse_after_hand_over(state: &State) -> Result<()> {
    if state.handed_over {
        return Err(Error::Journal(
            "the target has taken over already and may have changed things since; finish with --resume. To go back, pivot in the \
             other direction"
                .into(),
        ));
    }
    Ok(())
}

pub(super) fn begin_anew(journal: &mut Journal) -> Result<()> {
    let state = journal.state();
    if state.header.is_none() {
        return Ok(());
    }
    if state.ended() {
        return journal.set_aside();
    }
    Err(Error::Journal(format!(
        "a pivot that was interrupted is recorded in {}; finish it with --resume, or undo it with --roll-back",
        journal.path()
    )))
}

/// Returns the identities of two servers, which must not be one.
pub(super) async fn identities(source: &Server, target: &Server) -> Result<(String, String)> {
    let (source, target) = futures::try_join!(source.identity(), target.identity())?;
    if source == target {
        return Err(Error::Journal("source and target are the same server; look at --to-kubeconfig".into()));
    }
    Ok((source, target))
}

/// Checks that the journal is of an unfinished pivot between these servers, and returns its options.
pub(super) fn options(journal: &Journal, servers: &[(&str, String)]) -> Result<Options> {
    let path = journal.path();
    let state = journal.state();
    let Some(header) = &state.header else {
        return Err(Error::Journal(format!("{path} records no pivot; leave --resume and --roll-back away")));
    };
    if state.ended() {
        return Err(Error::Journal(format!("the pivot that {path} records has ended")));
    }
    if header.target.starts_with(DIRECTORY) {
        return Err(Error::Journal(format!(
            "{path} records objects that were being saved in a {}; undo that with the flags that it was begun with",
            header.target
        )));
    }
    for (role, found) in servers {
        let recorded = if *role == "source" { &header.source } else { &header.target };
        if recorded != found {
            return Err(Error::Journal(format!(
                "{path} records a pivot whose {role} was another server (its kube-system has UID {recorded}, this one's {found}); \
                 give the kubeconfig of that one, or the journal of this pivot with --journal. A target that is gone for good, or was \
                 made anew, is left out with --roll-back --target-is-gone"
            )));
        }
    }
    Ok(Options { namespace: header.namespace.clone(), keep_source: header.keep_source })
}
