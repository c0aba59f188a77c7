//! The verbs. None of these functions waits itself: the future of a verb is the future of its caller.

use bytes::Bytes;
use kinds::Subresource;
use machinery::status::Status;
use serde_json::Value;

use super::Registry;
use crate::context::{Context, DeleteOptions, Input, ListOptions, PatchBody, Preconditions, WatchOptions};
use crate::response::{Deleted, List, Written};
use crate::verbs;
use crate::verbs::get::{self, Found};
use crate::verbs::watch::Watch;
use crate::versions::definitions::Served;
use crate::versions::reader::Reader;

impl Registry {
    /// Finds one object, which [`Registry::found`] shows. `resource_version` is the query parameter.
    ///
    /// # Errors
    /// 404; 500 for a malformed `resource_version`, like a real API server.
    pub fn find<'a>(
        &self,
        served: &'a Served,
        namespace: &'a str,
        name: &'a str,
        subresource: Subresource,
        resource_version: &str,
    ) -> Result<Found<'a>, Status> {
        get::find(self.0.storage(), served, namespace, name, subresource, resource_version)
    }

    /// Returns what was found, or its `/scale`. For `/status` this is the whole object.
    ///
    /// # Errors
    /// 500 for an object in a version that its definition does not contain; the errors of a conversion webhook.
    pub fn found(&self, found: &Found<'_>) -> impl Future<Output = Result<Bytes, Status>> + Send {
        get::show(self.0.versions(), found)
    }

    /// Returns one object as it is now: [`Registry::find`], then [`Registry::found`].
    ///
    /// # Errors
    /// The errors of both.
    pub async fn get(
        &self,
        served: &Served,
        namespace: &str,
        name: &str,
        subresource: Subresource,
        resource_version: &str,
    ) -> Result<Bytes, Status> {
        self.found(&self.find(served, namespace, name, subresource, resource_version)?).await
    }

    /// Returns a page of a list. Waits for a while if `resourceVersion` is in the future.
    ///
    /// # Errors
    /// 400 for malformed options, 410 for expired revisions, 504 for future revisions.
    pub fn list(
        &self,
        context: &mut Context,
        served: &Served,
        namespace: &str,
        options: &ListOptions,
    ) -> impl Future<Output = Result<List, Status>> + Send {
        verbs::list(self.0.storage(), self.0.versions(), context, served, namespace, options)
    }

    /// Starts a watch. If the start revision is too old, the first event is an [`crate::EventType::Error`], like on a
    /// real API server. If it is in the future, the watch returns the changes after it. Initial events at a future
    /// revision are waited for; after a timeout, an error event follows.
    ///
    /// # Errors
    /// 400 and 422 for malformed options, 500 for a malformed revision or if the store has stopped.
    pub fn watch(
        &self,
        context: &mut Context,
        served: &Served,
        namespace: &str,
        options: &WatchOptions,
    ) -> impl Future<Output = Result<Watch, Status>> + Send {
        verbs::watch(self.0.storage(), self.0.versions(), context, served, namespace, options)
    }

    /// Creates an object. If a client posts a custom object to a path with a name, that name is ignored.
    ///
    /// # Errors
    /// 400, 403, 404 for the namespace, 409 `AlreadyExists`, 422.
    pub fn create(
        &self,
        context: &mut Context,
        served: &Served,
        namespace: &str,
        input: Input,
    ) -> impl Future<Output = Result<Written, Status>> + Send {
        verbs::create(&self.0, context, served, namespace, input)
    }

    /// Replaces an object or a subresource.
    ///
    /// # Errors
    /// 400, 404, 409, 422.
    pub fn update(
        &self,
        context: &mut Context,
        served: &Served,
        namespace: &str,
        name: &str,
        subresource: Subresource,
        input: Input,
    ) -> impl Future<Output = Result<Written, Status>> + Send {
        verbs::update(&self.0, context, served, namespace, name, subresource, input)
    }

    /// Patches an object or a subresource. An apply creates the object if it does not exist.
    ///
    /// # Errors
    /// 400, 404, 409 (also for conflicts of an apply), 413, 422.
    pub fn patch(
        &self,
        context: &mut Context,
        served: &Served,
        namespace: &str,
        name: &str,
        subresource: Subresource,
        body: PatchBody,
    ) -> impl Future<Output = Result<Written, Status>> + Send {
        verbs::patch(&self.0, context, served, namespace, name, subresource, body)
    }

    /// Deletes an object, or marks it as deleted if finalizers or a grace period delay its removal.
    ///
    /// # Errors
    /// 404; 409 for preconditions.
    pub fn delete(
        &self,
        context: &mut Context,
        served: &Served,
        namespace: &str,
        name: &str,
        options: &DeleteOptions,
    ) -> impl Future<Output = Result<Deleted, Status>> + Send {
        verbs::delete(&self.0, context, served, namespace, name, options)
    }

    /// Deletes the objects that a list selects, and returns the list.
    ///
    /// # Errors
    /// Those of [`Self::list`] and [`Self::delete`].
    pub fn delete_collection(
        &self,
        context: &mut Context,
        served: &Served,
        namespace: &str,
        options: &DeleteOptions,
        list: &ListOptions,
    ) -> impl Future<Output = Result<List, Status>> + Send {
        verbs::delete_collection(&self.0, context, served, namespace, options, list)
    }

    /// Takes back the deletion of an object that its finalizers still hold, if `check` allows it for the stored object. The result is
    /// stored only if the object is unchanged since that check. Admission sees an update. The generation rises, as it does for a deletion.
    ///
    /// # Errors
    /// 404; 409 for preconditions, or if the object is not being deleted; those of `check` and of admission.
    pub fn undelete(
        &self,
        context: &mut Context,
        served: &Served,
        (namespace, name): (&str, &str),
        preconditions: &Preconditions,
        check: impl Fn(&Value, &Reader<'_>) -> Result<(), Status>,
    ) -> impl Future<Output = Result<Written, Status>> {
        verbs::undelete(&self.0, context, served, (namespace, name), preconditions, check)
    }

    /// Assigns the Pod `name` to the Node `node`, and adds the labels and annotations of the binding. A dry run only
    /// checks whether the binding is possible.
    ///
    /// # Errors
    /// 404; 409 if the Pod already has a Node or is being deleted.
    pub fn bind(
        &self,
        context: &Context,
        pods: &Served,
        namespace: &str,
        name: &str,
        node: &str,
        binding: &Value,
    ) -> impl Future<Output = Result<(), Status>> + Send {
        verbs::bind(&self.0, context, pods, namespace, name, node, binding)
    }

    /// Decodes a body as a creation would: types, defaults, namespace and field ownership. `subresource` is the
    /// subresource of the request, or empty.
    ///
    /// # Errors
    /// 400 for an invalid body.
    pub fn transient(
        &self,
        context: &mut Context,
        served: &Served,
        namespace: &str,
        subresource: &str,
        input: Input,
    ) -> Result<Value, Status> {
        verbs::transient(self.0.clock(), context, served, namespace, subresource, input)
    }
}
