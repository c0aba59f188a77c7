// A controller-runtime manager against the server that KUBECONFIG names: cache, owns and watches, server-side apply, status patches,
// finalizers, field indexes, leader election. Exits 1 with the first thing that is not as it should be.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	metav1apply "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const (
	namespace = "manager"
	finalizer = "test.firstlight.dev/finalizer"
	deadline  = 60 * time.Second
)

var clusterKind = schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "Cluster"}

func newCluster(name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(clusterKind)
	object.SetName(name)
	object.SetNamespace(namespace)
	return object
}

// reconciler keeps a ConfigMap for each Cluster, and says so in the Cluster's status.
type reconciler struct{ client.Client }

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	cluster := newCluster(request.Name)
	if err := r.Get(ctx, request.NamespacedName, cluster); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !cluster.GetDeletionTimestamp().IsZero() {
		before := cluster.DeepCopy()
		controllerutil.RemoveFinalizer(cluster, finalizer)
		return ctrl.Result{}, client.IgnoreNotFound(r.Patch(ctx, cluster, client.MergeFrom(before)))
	}
	if !controllerutil.ContainsFinalizer(cluster, finalizer) {
		before := cluster.DeepCopy()
		controllerutil.AddFinalizer(cluster, finalizer)
		if err := r.Patch(ctx, cluster, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
			return ctrl.Result{}, err
		}
	}
	owner := metav1apply.OwnerReference().WithAPIVersion(clusterKind.GroupVersion().String()).WithKind(clusterKind.Kind).
		WithName(cluster.GetName()).WithUID(cluster.GetUID()).WithController(true).WithBlockOwnerDeletion(true)
	wanted := corev1apply.ConfigMap(request.Name, namespace).WithOwnerReferences(owner).WithData(map[string]string{"cluster": request.Name})
	if err := r.Apply(ctx, wanted, client.FieldOwner("manager-test"), client.ForceOwnership); err != nil {
		return ctrl.Result{}, err
	}
	before := cluster.DeepCopy()
	if err := unstructured.SetNestedField(cluster.Object, "Provisioned", "status", "phase"); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.Status().Patch(ctx, cluster, client.MergeFrom(before))
}

func main() {
	ctrl.SetLogger(zap.New(zap.UseDevMode(false)))
	ctx, cancel := context.WithTimeout(context.Background(), 3*deadline)
	defer cancel()
	if err := run(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println("ok: a manager")
}

func run(ctx context.Context) error {
	manager, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{
		Client:                        client.Options{Cache: &client.CacheOptions{Unstructured: true}},
		Metrics:                       server.Options{BindAddress: "0"},
		LeaderElection:                true,
		LeaderElectionID:              "manager-test",
		LeaderElectionNamespace:       "default",
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 ptr.To(15 * time.Second),
	})
	if err != nil {
		return err
	}
	phase := func(object client.Object) []string {
		value, _, _ := unstructured.NestedString(object.(*unstructured.Unstructured).Object, "status", "phase")
		return []string{value}
	}
	if err := manager.GetFieldIndexer().IndexField(ctx, newCluster(""), "phase", phase); err != nil {
		return err
	}
	err = ctrl.NewControllerManagedBy(manager).For(newCluster("")).Owns(&corev1.ConfigMap{}).Complete(&reconciler{manager.GetClient()})
	if err != nil {
		return err
	}
	managed, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(managed) }()
	outcome := drive(ctx, manager.GetClient())
	stop()
	return errors.Join(outcome, <-ended)
}

// drive is the user: it makes Clusters, damages what the manager keeps, and deletes them.
func drive(ctx context.Context, c client.Client) error {
	if err := c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		return err
	}
	for _, name := range []string{"one", "two"} {
		cluster := newCluster(name)
		reference := map[string]any{"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "DevCluster", "name": name}
		cluster.Object["spec"] = map[string]any{"infrastructureRef": reference, "paused": true}
		if err := c.Create(ctx, cluster); err != nil {
			return err
		}
	}
	provisioned := func(ctx context.Context) (bool, error) {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(clusterKind.GroupVersion().WithKind("ClusterList"))
		err := c.List(ctx, list, client.InNamespace(namespace), client.MatchingFields{"phase": "Provisioned"})
		return len(list.Items) == 2, err
	}
	if err := eventually(ctx, "both Clusters are Provisioned", provisioned); err != nil {
		return err
	}
	if err := c.Delete(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "one", Namespace: namespace}}); err != nil {
		return err
	}
	restored := func(ctx context.Context) (bool, error) {
		found := &corev1.ConfigMap{}
		err := c.Get(ctx, client.ObjectKey{Name: "one", Namespace: namespace}, found)
		return err == nil && found.Data["cluster"] == "one" && found.DeletionTimestamp.IsZero(), client.IgnoreNotFound(err)
	}
	if err := eventually(ctx, "the deleted ConfigMap is back", restored); err != nil {
		return err
	}
	for _, name := range []string{"one", "two"} {
		if err := c.Delete(ctx, newCluster(name)); err != nil {
			return err
		}
	}
	gone := func(ctx context.Context) (bool, error) {
		for _, name := range []string{"one", "two"} {
			key := client.ObjectKey{Name: name, Namespace: namespace}
			for _, object := range []client.Object{newCluster(name), &corev1.ConfigMap{}} {
				if err := c.Get(ctx, key, object); !apierrors.IsNotFound(err) {
					return false, err
				}
			}
		}
		return true, nil
	}
	return eventually(ctx, "Clusters and, by garbage collection, ConfigMaps are gone", gone)
}

func eventually(ctx context.Context, what string, condition wait.ConditionWithContextFunc) error {
	if err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, deadline, true, condition); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
