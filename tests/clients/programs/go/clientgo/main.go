// A client-go program against the server that KUBECONFIG names: typed, dynamic and discovery clients, informers with and without
// watch lists, leader election and events. Exits 1 with the first thing that is not as it should be.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/retry"
)

const (
	namespace = "client-go"
	deadline  = 60 * time.Second
)

var clusters = schema.GroupVersionResource{Group: "cluster.x-k8s.io", Version: "v1beta2", Resource: "clusters"}

func main() {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		log.Fatal(err)
	}
	config.UserAgent = "client-go-test"
	ctx, cancel := context.WithTimeout(context.Background(), 5*deadline)
	defer cancel()
	for _, scenario := range []struct {
		name string
		run  func(context.Context, *rest.Config) error
	}{
		{"discovery", discover},
		{"typed, JSON", typedWith("")},
		{"typed, protobuf", typedWith("application/vnd.kubernetes.protobuf")},
		{"dynamic", dynamicObjects},
		{"informers, KUBE_FEATURE_WatchListClient=" + os.Getenv("KUBE_FEATURE_WatchListClient"), informersSee},
		{"leader election", elect},
		{"events", recordEvents},
	} {
		if err := scenario.run(ctx, config); err != nil {
			log.Fatalf("%s: %v", scenario.name, err)
		}
		fmt.Println("ok:", scenario.name)
	}
}

func discover(_ context.Context, config *rest.Config) error {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	version, err := client.ServerVersion()
	if err != nil {
		return err
	}
	if version.Major != "1" || version.Minor != "36" {
		return fmt.Errorf("version %s.%s", version.Major, version.Minor)
	}
	groups, lists, err := client.ServerGroupsAndResources()
	if err != nil {
		return err
	}
	kinds := map[string]bool{}
	for _, list := range lists {
		for _, resource := range list.APIResources {
			kinds[list.GroupVersion+"/"+resource.Kind+"/"+resource.Name] = true
		}
	}
	for _, wanted := range []string{"v1/Secret/secrets", "cluster.x-k8s.io/v1beta2/Cluster/clusters", "cluster.x-k8s.io/v1beta2/Cluster/clusters/status"} {
		if !kinds[wanted] {
			return fmt.Errorf("%s is not among the resources of %d groups", wanted, len(groups))
		}
	}
	preferred, err := client.ServerPreferredResources()
	if err != nil {
		return err
	}
	if len(preferred) == 0 {
		return errors.New("no preferred resources")
	}
	return nil
}

func typedWith(contentType string) func(context.Context, *rest.Config) error {
	return func(ctx context.Context, config *rest.Config) error {
		config = rest.CopyConfig(config)
		config.ContentType = contentType
		if contentType != "" {
			config.AcceptContentTypes = contentType + ",application/json"
		}
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			return err
		}
		return typed(ctx, client)
	}
}

func typed(ctx context.Context, client kubernetes.Interface) error {
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if _, err := client.CoreV1().Namespaces().Create(ctx, space, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	secrets := client.CoreV1().Secrets(namespace)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{GenerateName: "s-", Labels: map[string]string{"a": "b"}}, StringData: map[string]string{"k": "v"}}
	created, err := secrets.Create(ctx, secret, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if string(created.Data["k"]) != "v" || created.Type != corev1.SecretTypeOpaque || created.UID == "" {
		return fmt.Errorf("created %v", created.ObjectMeta)
	}
	if _, err := secrets.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: created.Name}}, metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("a second create: %v", err)
	}
	stale := created.DeepCopy()
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		created.Data["more"] = []byte{0, 1, 255}
		created, err = secrets.Update(ctx, created, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		return err
	}
	stale.Data["k"] = []byte("lost")
	if _, err := secrets.Update(ctx, stale, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		return fmt.Errorf("an update of an old version: %v", err)
	}
	patched, err := secrets.Patch(ctx, created.Name, types.StrategicMergePatchType, []byte(`{"metadata":{"labels":{"c":"d"}}}`), metav1.PatchOptions{})
	if err != nil {
		return err
	}
	if patched.Labels["a"] != "b" || patched.Labels["c"] != "d" || string(patched.Data["more"]) != "\x00\x01\xff" {
		return fmt.Errorf("patched %v", patched)
	}
	list, err := secrets.List(ctx, metav1.ListOptions{LabelSelector: "c=d", FieldSelector: "type=Opaque", Limit: 10})
	if err != nil {
		return err
	}
	if len(list.Items) != 1 || list.Items[0].Name != created.Name {
		return fmt.Errorf("%d Secrets with c=d", len(list.Items))
	}
	applied := corev1apply.ConfigMap("applied", namespace).WithData(map[string]string{"x": "1"})
	if _, err := client.CoreV1().ConfigMaps(namespace).Apply(ctx, applied, metav1.ApplyOptions{FieldManager: "one"}); err != nil {
		return err
	}
	other := corev1apply.ConfigMap("applied", namespace).WithData(map[string]string{"x": "2"})
	if _, err := client.CoreV1().ConfigMaps(namespace).Apply(ctx, other, metav1.ApplyOptions{FieldManager: "two"}); !apierrors.IsConflict(err) {
		return fmt.Errorf("an apply of another's field: %v", err)
	}
	if err := secrets.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "a=b"}); err != nil {
		return err
	}
	if _, err := secrets.Get(ctx, created.Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		return fmt.Errorf("a get of what was deleted: %v", err)
	}
	return client.CoreV1().ConfigMaps(namespace).Delete(ctx, "applied", metav1.DeleteOptions{})
}

func cluster(name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetAPIVersion(clusters.GroupVersion().String())
	object.SetKind("Cluster")
	object.SetName(name)
	object.SetNamespace(namespace)
	reference := map[string]any{"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "DevCluster", "name": name}
	object.Object["spec"] = map[string]any{"infrastructureRef": reference, "paused": true}
	return object
}

func dynamicObjects(ctx context.Context, config *rest.Config) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	resource := client.Resource(clusters).Namespace(namespace)
	created, err := resource.Create(ctx, cluster("dynamic"), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	created.Object["status"] = map[string]any{"phase": "Provisioning"}
	updated, err := resource.UpdateStatus(ctx, created, metav1.UpdateOptions{})
	if err != nil {
		return err
	}
	if phase, _, _ := unstructured.NestedString(updated.Object, "status", "phase"); phase != "Provisioning" {
		return fmt.Errorf("phase %q", phase)
	}
	bad := cluster("bad")
	_ = unstructured.SetNestedField(bad.Object, int64(7), "spec", "paused")
	if _, err := resource.Create(ctx, bad, metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
		return fmt.Errorf("a number as a flag: %v", err)
	}
	body, err := json.Marshal(map[string]any{
		"apiVersion": clusters.GroupVersion().String(), "kind": "Cluster",
		"metadata": map[string]any{"name": "dynamic", "labels": map[string]any{"applied": "yes"}},
	})
	if err != nil {
		return err
	}
	applied, err := resource.Patch(ctx, "dynamic", types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: "test"})
	if err != nil {
		return err
	}
	if applied.GetLabels()["applied"] != "yes" || len(applied.GetManagedFields()) < 2 {
		return fmt.Errorf("applied %v", applied.GetManagedFields())
	}
	return resource.Delete(ctx, "dynamic", metav1.DeleteOptions{})
}

func informersSee(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace))
	informer := factory.Core().V1().ConfigMaps().Informer()
	var adds, updates, deletes atomic.Int64
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { adds.Add(1) },
		UpdateFunc: func(any, any) { updates.Add(1) },
		DeleteFunc: func(any) { deletes.Add(1) },
	}); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return errors.New("the cache did not become complete")
	}
	maps := client.CoreV1().ConfigMaps(namespace)
	for number := range 20 {
		name := fmt.Sprintf("watched-%d", number)
		object, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		object.Data = map[string]string{"n": name}
		if _, err := maps.Update(ctx, object, metav1.UpdateOptions{}); err != nil {
			return err
		}
		if err := maps.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			return err
		}
	}
	seen := func(context.Context) (bool, error) {
		return adds.Load() == 20 && updates.Load() == 20 && deletes.Load() == 20, nil
	}
	if err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, deadline, true, seen); err != nil {
		return fmt.Errorf("%d added, %d updated, %d deleted, of 20 each", adds.Load(), updates.Load(), deletes.Load())
	}
	return nil
}

func elect(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	leading := make(chan string, 2)
	run := func(ctx context.Context, name string) {
		lock := &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: namespace, Name: "leader"},
			Client:     client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: name},
		}
		leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
			Lock: lock, LeaseDuration: 4 * time.Second, RenewDeadline: 3 * time.Second, RetryPeriod: 500 * time.Millisecond,
			ReleaseOnCancel: true,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(context.Context) { leading <- name },
				OnStoppedLeading: func() {},
			},
		})
	}
	expect := func(wanted string) error {
		select {
		case name := <-leading:
			if name != wanted {
				return fmt.Errorf("%s leads, not %s", name, wanted)
			}
			return nil
		case <-time.After(deadline):
			return fmt.Errorf("%s does not lead", wanted)
		}
	}
	first, stopFirst := context.WithCancel(ctx)
	go run(first, "first")
	if err := expect("first"); err != nil {
		stopFirst()
		return err
	}
	second, stopSecond := context.WithCancel(ctx)
	defer stopSecond()
	go run(second, "second")
	stopFirst()
	return expect("second")
}

func recordEvents(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	broadcaster := record.NewBroadcaster()
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events(namespace)})
	recorder := broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "test"})
	object, err := client.CoreV1().ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "eventful"}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	reference := runtime.Object(&corev1.ObjectReference{Kind: "ConfigMap", APIVersion: "v1", Name: object.Name, Namespace: namespace, UID: object.UID})
	for range 3 {
		recorder.Event(reference, corev1.EventTypeNormal, "Tested", "the same again")
	}
	counted := func(ctx context.Context) (bool, error) {
		list, err := client.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.uid=" + string(object.UID)})
		if err != nil {
			return false, err
		}
		return len(list.Items) == 1 && list.Items[0].Count == 3, nil
	}
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, deadline, true, counted)
}
