//! Patches one after the other, with the caller asking extensions in between.

use std::collections::BTreeSet;

use schemas::cluster::{Cluster, ClusterClassPatch};
use serde_json::Value;
use thiserror::Error;

use super::budget::Budget;
use super::builtins::{self, INLINE};
use super::items::{self, Item};
use super::request::{GeneratePatchesRequest, GeneratePatchesResponse, ValidateTopologyRequest, Variable};
use super::unused::{self, Unused};
use super::{apply, inline, result};
use crate::blueprint::Blueprint;
use crate::desired::{Contract, Desired};
use crate::object;
use crate::size::measure;

/// What comes next.
#[derive(Debug)]
pub enum Step<'a> {
    /// All patches are applied, and there is nothing more to validate.
    Done,
    /// Call `GeneratePatches` of the patch's extension, and give its answer to [`Patching::answer`].
    Generate {
        /// The patch.
        patch: &'a ClusterClassPatch,
        /// The request.
        request: GeneratePatchesRequest,
    },
    /// All patches are applied. Call `ValidateTopology` of the patch's extension. If it refuses, the desired objects are not applied; else go on with [`Patching::next`].
    Validate {
        /// The patch.
        patch: &'a ClusterClassPatch,
        /// The request.
        request: ValidateTopologyRequest,
    },
}

/// Why patches cannot be applied.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PatchError {
    /// A template cannot be prepared for patches, or is no template any more after them.
    #[error("{message}")]
    Template {
        /// The template and what is wrong.
        message: String,
    },
    /// A patch failed.
    #[error("patch {patch:?} of the ClusterClass cannot be applied to {template}: {message}")]
    Patch {
        /// The name of the patch.
        patch: String,
        /// Kind, namespace and name of the template.
        template: String,
        /// The part of the patch, and what is wrong.
        message: String,
    },
    /// A patch has neither definitions nor an extension.
    #[error("patch {patch:?} of the ClusterClass has neither definitions nor external")]
    Empty {
        /// The name of the patch.
        patch: String,
    },
    /// An extension answered a patch for no template of the request.
    #[error("the extension of patch {patch:?} answered a patch for {uid:?}, which is no item of the request")]
    UnknownItem {
        /// The name of the patch.
        patch: String,
        /// What it answered.
        uid: String,
    },
    /// [`Patching::next`] was called before the answer to the last request, or [`Patching::answer`] without a request.
    #[error("requests and answers are out of order")]
    OutOfOrder,
}

/// The patches of a class on their way through the templates of a Cluster.
pub struct Patching<'a> {
    blueprint: &'a Blueprint,
    cluster: &'a Cluster,
    desired: Desired,
    items: Vec<Item>,
    /// The patch that is next.
    next: usize,
    /// The patch whose extension is being asked.
    asked: Option<&'a ClusterClassPatch>,
    /// The patch that validates next, once all are applied.
    validating: usize,
    parsed: inline::Parsed<'a>,
    /// The variables that the class defines itself, and their values for all templates.
    inline: (BTreeSet<&'a str>, Vec<Variable>),
    budget: Budget,
}

impl<'a> Patching<'a> {
    /// Begins with the desired objects of a Cluster as [`crate::desired::compute`] makes them. The Cluster's topology must have the defaults of its variables.
    ///
    /// # Errors
    /// A template has not the form of one.
    pub fn new(
        blueprint: &'a Blueprint,
        cluster: &'a Cluster,
        desired: Desired,
        contract: Contract,
    ) -> Result<Self, PatchError> {
        let items = match blueprint.class.spec.patches.is_empty() {
            true => Vec::new(),
            false => items::items(blueprint, cluster, &desired, contract)
                .map_err(|message| PatchError::Template { message })?,
        };
        let defined = builtins::defined_by(&blueprint.class, INLINE);
        let global = builtins::global(cluster, &desired, &defined);
        let sizes = items.iter().map(|item| measure(&item.item.object).bytes);
        Ok(Self {
            budget: Budget::new(sizes.sum()),
            blueprint,
            cluster,
            desired,
            items,
            next: 0,
            asked: None,
            validating: 0,
            parsed: inline::Parsed::default(),
            inline: (defined, global),
        })
    }

    /// Returns the parts of inline patches that are for no template of the Cluster. That is as it must be for classes of workers which the
    /// Cluster has none of.
    ///
    /// # Errors
    /// The selectors of the class make too many steps.
    pub fn unused(&self) -> Result<Vec<Unused>, PatchError> {
        unused::of(&self.blueprint.class.spec.patches, &self.items)
    }

    /// Applies inline patches up to the next request for an extension.
    ///
    /// # Errors
    /// A patch failed, or the last request is not answered yet.
    #[expect(clippy::should_implement_trait, reason = "an iterator could not fail, and this one is answered")]
    pub fn next(&mut self) -> Result<Step<'a>, PatchError> {
        if self.asked.is_some() {
            return Err(PatchError::OutOfOrder);
        }
        let blueprint = self.blueprint;
        let patches = &blueprint.class.spec.patches;
        while let Some(patch) = patches.get(self.next) {
            self.next += 1;
            if !patch.definitions.is_empty() {
                self.inline(patch)?;
                continue;
            }
            let external =
                patch.external.as_ref().ok_or_else(|| PatchError::Empty { patch: patch.name.clone() })?;
            if is_named(external.generate_patches_extension.as_ref()) {
                self.asked = Some(patch);
                return Ok(Step::Generate { patch, request: self.request(&patch.name) });
            }
        }
        while let Some(patch) = patches.get(self.validating) {
            self.validating += 1;
            let external = patch.external.as_ref();
            if is_named(external.and_then(|external| external.validate_topology_extension.as_ref())) {
                let request = ValidateTopologyRequest::from(&self.request(&patch.name));
                return Ok(Step::Validate { patch, request });
            }
        }
        Ok(Step::Done)
    }

    /// Applies what the extension answered to the last request.
    ///
    /// # Errors
    /// Nothing was asked, or a patch of the answer cannot be read or does not fit. Then none of the answer's later patches is applied, and the desired objects must not be
    /// used.
    pub fn answer(&mut self, response: GeneratePatchesResponse) -> Result<(), PatchError> {
        let patch = self.asked.take().ok_or(PatchError::OutOfOrder)?;
        for answered in &response.items {
            let item =
                items::find(&mut self.items, &answered.uid).ok_or_else(|| PatchError::UnknownItem {
                    patch: patch.name.clone(),
                    uid: answered.uid.chars().take(64).collect(),
                })?;
            apply::external(&mut item.item.object, answered, &mut self.budget)
                .map_err(|message| failed(patch, &item.item.object, message))?;
        }
        Ok(())
    }

    /// Takes the patched templates over into the desired objects.
    ///
    /// # Errors
    /// A request is not answered yet, or a patched template is not one any more.
    pub fn finish(mut self) -> Result<Desired, PatchError> {
        if self.asked.is_some() || self.next < self.blueprint.class.spec.patches.len() {
            return Err(PatchError::OutOfOrder);
        }
        for item in self.items {
            result::take_over(&mut self.desired, item).map_err(|message| PatchError::Template { message })?;
        }
        result::without_empty_endpoint(&mut self.desired.infrastructure);
        result::without_empty_endpoint(&mut self.desired.control_plane);
        Ok(self.desired)
    }

    fn inline(&mut self, patch: &'a ClusterClassPatch) -> Result<(), PatchError> {
        let (cluster, desired) = (self.cluster, &self.desired);
        let (defined, global) = &self.inline;
        for item in &mut self.items {
            let variables = |item: &Item| {
                builtins::merged(global, &builtins::of_part(cluster, desired, &item.part, defined))
            };
            inline::apply(patch, item, variables, &mut self.parsed, &mut self.budget)
                .map_err(|message| failed(patch, &item.item.object, message))?;
        }
        Ok(())
    }

    /// All templates as they are now, with the variables that a patch defines.
    fn request(&self, definitions_from: &str) -> GeneratePatchesRequest {
        let defined = builtins::defined_by(&self.blueprint.class, definitions_from);
        let items = self.items.iter().map(|item| {
            let mut asked = item.item.clone();
            asked.variables = builtins::of_part(self.cluster, &self.desired, &item.part, &defined);
            asked
        });
        GeneratePatchesRequest {
            variables: builtins::global(self.cluster, &self.desired, &defined),
            items: items.collect(),
        }
    }
}

fn is_named(extension: Option<&String>) -> bool {
    extension.is_some_and(|name| !name.is_empty())
}

pub(super) fn failed(patch: &ClusterClassPatch, template: &Value, message: String) -> PatchError {
    PatchError::Patch { patch: patch.name.clone(), template: object::described(template), message }
}
