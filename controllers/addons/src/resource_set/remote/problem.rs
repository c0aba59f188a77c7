//! The reasons why an object could not be applied.

use super::super::manifests::{Manifest, text};

/// The reason why an object could not be applied.
#[derive(Debug)]
pub enum Problem {
    /// The workload cluster did not answer.
    NoAnswer(String),
    /// The workload cluster does not serve the kind.
    NotServed,
    /// The kind has a namespace, and the manifest has none.
    NoNamespace,
    /// The workload cluster refused the request.
    Refused {
        /// The status code.
        code: u16,
        /// The reason for programs.
        reason: String,
        /// The message, which can quote the object.
        message: String,
    },
    /// There can be no request for the manifest.
    Faulty(&'static str),
    /// The request or its answer has no valid form.
    Unreadable(String),
}

impl Problem {
    /// Returns the problem of the client's error.
    pub fn of(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => Self::Refused {
                code: status.code,
                reason: status.reason.clone(),
                message: status.message.clone(),
            },
            kube::Error::Service(error) => Self::NoAnswer(error.to_string()),
            other => Self::NoAnswer(other.to_string()),
        }
    }

    /// Returns whether another attempt can succeed without a change of the manifest.
    pub fn is_retried(&self) -> bool {
        !matches!(self, Self::NoNamespace | Self::Faulty(_))
    }

    /// Returns whether there is no such object or kind.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Refused { code: 404, .. })
    }

    /// Returns whether an object of this name exists.
    pub fn is_already_exists(&self) -> bool {
        matches!(self, Self::Refused { code: 409, reason, .. } if reason == "AlreadyExists")
    }

    /// Describes the problem with the place of the manifest. Of a Secret it repeats neither content nor an answer, which could quote it.
    pub fn text(&self, manifest: &Manifest, is_secret: bool) -> String {
        let object = &manifest.object;
        let place = if is_secret {
            manifest.place.to_string()
        } else {
            let kind_and_name = [text(object, "kind"), text(&object["metadata"], "name")];
            match kind_and_name.join(" ").trim() {
                "" => manifest.place.to_string(),
                told => format!("{} ({told})", manifest.place),
            }
        };
        match self {
            Self::NoAnswer(reason) => format!("{place}: the workload cluster does not answer: {reason}"),
            Self::NotServed if is_secret => format!("{place}: the workload cluster does not serve its kind"),
            Self::NotServed => {
                let version = text(object, "apiVersion");
                format!("{place}: the workload cluster does not serve this kind in {version}")
            }
            Self::NoNamespace => format!("{place}: its kind needs metadata.namespace"),
            Self::Refused { code, reason, .. } if is_secret => {
                format!("{place}: the workload cluster refused it: {code} {reason}")
            }
            Self::Refused { message, .. } => format!("{place}: the workload cluster refused it: {message}"),
            Self::Faulty(reason) => format!("{place}: {reason}"),
            Self::Unreadable(reason) => format!("{place}: {reason}"),
        }
    }
}
