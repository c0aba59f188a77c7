//! The bounds of the work that a class can make. A class is written by whoever may create one in a namespace, and its patches are programs.

/// Bytes of a template after its patches, written as JSON. An object of the API cannot be larger.
pub const PATCHED_BYTES_MAX: usize = 3 << 20;
/// Bytes of all templates of a Cluster, before and after their patches. Each entry of a topology's workers has templates of its own, and there can be thousands of
/// entries.
pub const ALL_TEMPLATES_BYTES_MAX: usize = 64 << 20;
/// Bytes of all templates of a Cluster from which on its objects are made for one such Cluster at a time, because they need several times as much memory.
pub const LARGE_TEMPLATES_BYTES: usize = 4 << 20;
/// Steps of all renderings of the templates in patches, and names of classes in their selectors, for one Cluster (`templates::limits::STEPS_MAX` is for one rendering). They take less than ten seconds; the
/// patches of a class with fifty workers take a tenth of a second.
pub const PATCH_STEPS_MAX: u64 = 10_000_000;
/// Levels of objects and lists in a patched template.
pub const PATCHED_DEPTH_MAX: usize = machinery::limits::MAX_DEPTH;
/// Bytes that all patches write for one Cluster: rendered texts, values and changed templates, each time that they are written.
pub const PATCH_BYTES_MAX: usize = 1 << 30;
