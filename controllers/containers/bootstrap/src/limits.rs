//! Limits of the bootstrap data.

/// Maximum size of bootstrap data in bytes. An object of the API, which holds it in base64, cannot be larger.
pub const MAX_DATA: usize = 3 * 1024 * 1024;

/// Maximum size of the contents of all files together in bytes, after decompression.
pub const MAX_CONTENT: usize = 16 * 1024 * 1024;

/// Maximum number of steps of one bootstrap.
pub const MAX_STEPS: usize = 10_000;

/// Maximum size in bytes of one argument of a command, and of the text for a shell: Linux' `MAX_ARG_STRLEN` without
/// the byte at its end.
pub const MAX_ARGUMENT: usize = 128 * 1024 - 1;

/// Maximum depth of command substitutions in a shell text in which kubeadm is looked for.
pub const MAX_SHELL_DEPTH: usize = 32;

/// Maximum size in bytes of what the status of a bootstrap shows of each output.
pub const MAX_OUTPUT: usize = 16 * 1024;

/// Maximum size of kubeadm's configuration file in bytes.
pub const MAX_CONFIGURATION: usize = 1024 * 1024;

/// Maximum number of documents in kubeadm's configuration file.
pub const MAX_DOCUMENTS: usize = 100;
