//! Checks that the journal matches the requested operation.

use super::{Pivot, directory};
use crate::error::{Error, Result};

impl Pivot {
    pub(super) fn refuse_after_hand_over(&self) -> Result<()> {
        if self.journal.state().handed_over {
            return Err(Error::Journal(
                "the target has taken over already and may have changed things since; finish with --resume. To go back, pivot in the \
                 other direction"
                    .into(),
            ));
        }
        Ok(())
    }

    pub(super) fn begin_anew(&mut self) -> Result<()> {
        let state = self.journal.state();
        if state.header.is_none() {
            return Ok(());
        }
        if state.ended() {
            return self.journal.set_aside();
        }
        Err(Error::Journal(format!(
            "a pivot that was interrupted is recorded in {}; finish it with --resume, or undo it with --roll-back",
            self.journal.path()
        )))
    }

    pub(super) async fn identities(&self) -> Result<(String, String)> {
        let (source, target) = futures::try_join!(self.source.identity(), self.target.identity())?;
        if source == target {
            return Err(Error::Journal(
                "source and target are the same server; look at --to-kubeconfig".into(),
            ));
        }
        Ok((source, target))
    }

    pub(super) async fn continue_journal(&mut self) -> Result<()> {
        let (source, target) = self.identities().await?;
        self.check_journal(&[("source", source), ("target", target)])
    }

    /// Checks that the journal is of an unfinished pivot between these servers, and takes its options over.
    pub(super) fn check_journal(&mut self, servers: &[(&str, String)]) -> Result<()> {
        let path = self.journal.path();
        let state = self.journal.state();
        let Some(header) = state.header.clone() else {
            return Err(Error::Journal(format!(
                "{path} records no pivot; leave --resume and --roll-back away"
            )));
        };
        if state.ended() {
            return Err(Error::Journal(format!("the pivot that {path} records has ended")));
        }
        if header.target.starts_with(directory::DIRECTORY) {
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
        self.options.namespace = header.namespace;
        self.options.keep_source = header.keep_source;
        Ok(())
    }
}
