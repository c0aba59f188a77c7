//! Why another machine cannot be reached.

use std::error::Error as StdError;
use std::io;

/// Why another machine cannot be reached. The texts say what to do, and have no credentials.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A variable, or a field of a kubeconfig, that should have the address of a proxy.
    #[error(
        "{name} is not the address of a proxy: {why}; it has the form http://[USER:PASSWORD@]HOST:PORT, or begins with https:// or socks5://"
    )]
    Variable {
        /// The variable.
        name: String,
        /// What is wrong with its value.
        why: String,
    },
    /// The name of a host cannot be resolved.
    #[error("cannot resolve {name}: {cause}")]
    Unresolved {
        /// The name.
        name: String,
        /// The resolver's reason.
        cause: io::Error,
    },
    /// The host, which is not behind a proxy, cannot be reached.
    #[error(transparent)]
    Direct(#[from] io::Error),
    /// The proxy itself cannot be reached, or breaks off.
    #[error("the proxy {proxy} cannot be reached: {cause}")]
    Unreachable {
        /// The proxy.
        proxy: String,
        /// The reason.
        cause: String,
    },
    /// The proxy wants other credentials, or any.
    #[error(
        "the proxy {proxy} wants credentials, or others: they are part of its address, http://USER:PASSWORD@HOST:PORT, with %XX for characters that mean something there"
    )]
    Credentials {
        /// The proxy.
        proxy: String,
    },
    /// The proxy forbids the connection.
    #[error("the proxy {proxy} forbids connections to {to}: {answer}")]
    Forbidden {
        /// The proxy.
        proxy: String,
        /// Host and port.
        to: String,
        /// The proxy's words.
        answer: String,
    },
    /// The proxy does not make the connection.
    #[error("the proxy {proxy} makes no connection to {to}: {answer}")]
    Refused {
        /// The proxy.
        proxy: String,
        /// Host and port.
        to: String,
        /// The proxy's words.
        answer: String,
    },
    /// Nothing answers in time.
    #[error("no connection to {to} within {} s", crate::limits::CONNECT.as_secs())]
    TimedOut {
        /// Host and port, or the proxy.
        to: String,
    },
    /// This machine has no certificate authorities, so no certificate can be checked.
    #[error("this machine has no certificate authorities, so {to} cannot be trusted: {why}")]
    Authorities {
        /// The host.
        to: String,
        /// Where they were looked for.
        why: String,
    },
    /// A host that cannot be part of an address.
    #[error("{host:?} is not the name of a host")]
    Host {
        /// The host.
        host: String,
    },
}

impl Error {
    /// Whether the same attempt would fail a little later, too.
    pub fn is_lasting(&self) -> bool {
        match self {
            Self::Variable { .. }
            | Self::Unresolved { .. }
            | Self::Credentials { .. }
            | Self::Forbidden { .. }
            | Self::Authorities { .. }
            | Self::Host { .. } => true,
            Self::Direct(_) | Self::Unreachable { .. } | Self::Refused { .. } | Self::TimedOut { .. } => {
                false
            }
        }
    }

    /// The same as an error of a stream. Without a proxy it is the system's own.
    pub fn into_io(self) -> io::Error {
        match self {
            Self::Direct(cause) | Self::Unresolved { cause, .. } => cause,
            Self::TimedOut { .. } => io::Error::new(io::ErrorKind::TimedOut, self),
            other => io::Error::other(other),
        }
    }
}

/// Why a request has no answer.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// There is no connection, for a reason that is known before, or that the proxy's answer says.
    #[error("no connection")]
    Unreachable(#[from] Error),
    /// There is no connection, or it breaks.
    #[error(transparent)]
    Http(#[from] hyper_util::client::legacy::Error),
}

/// Finds the error of this crate among the causes of another one.
pub fn refusal<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a Error> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        // An error of a stream does not name the error that it carries as its source.
        let carried = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        next = match carried {
            Some(carried) => Some(carried),
            None => error.source(),
        };
    }
    None
}
