// Forwards ports of a simulated cluster's Pods in both forms that client-go has, SPDY and SPDY in a WebSocket, and talks to etcd and to the
// API server through them. KUBECONFIG names the management cluster; the argument is the Cluster's name in the namespace "default".
// Exits 1 with the first thing that is not as it should be.
package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/httpstream"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
)

const (
	namespace = "kube-system"
	etcdPort  = 2379
	apiPort   = 6443
	deadline  = 60 * time.Second
)

// workload is the simulated cluster.
type workload struct {
	config *rest.Config
	client *kubernetes.Clientset
	// etcd is how a client of etcd connects.
	etcd *tls.Config
}

func connect(ctx context.Context, name string) (*workload, error) {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return nil, err
	}
	management, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	secrets := management.CoreV1().Secrets("default")
	kubeconfig, err := secrets.Get(ctx, name+"-kubeconfig", metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	authority, err := secrets.Get(ctx, name+"-etcd", metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	w := &workload{}
	if w.config, err = clientcmd.RESTConfigFromKubeConfig(kubeconfig.Data["value"]); err != nil {
		return nil, err
	}
	if w.client, err = kubernetes.NewForConfig(w.config); err != nil {
		return nil, err
	}
	w.etcd, err = etcdClient(authority.Data["tls.crt"], authority.Data["tls.key"])
	return w, err
}

// etcdClient issues a client certificate.
func etcdClient(certificate, key []byte) (*tls.Config, error) {
	authority, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, err
	}
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "portforward"},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(time.Hour),
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	leaf, err := x509.CreateCertificate(rand.Reader, template, authority.Leaf, own.Public(), authority.PrivateKey)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AddCert(authority.Leaf)
	return &tls.Config{
		RootCAs:      pool,
		Certificates: []tls.Certificate{{Certificate: [][]byte{leaf}, PrivateKey: own}},
		NextProtos:   []string{"h2"},
	}, nil
}

// pod returns the name of the first Pod with this component.
func (w *workload) pod(ctx context.Context, component string) (string, error) {
	pods, err := w.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: "component=" + component})
	if err != nil {
		return "", err
	}
	if len(pods.Items) == 0 {
		return "", fmt.Errorf("there is no Pod of %s", component)
	}
	return pods.Items[0].Name, nil
}

// dialer returns a dialer of one form only, so that nothing falls back to the other one.
func (w *workload) dialer(form, pod string) (httpstream.Dialer, error) {
	url := w.client.CoreV1().RESTClient().Post().Resource("pods").Namespace(namespace).Name(pod).SubResource("portforward").URL()
	if form == "WebSocket" {
		return portforward.NewSPDYOverWebsocketDialer(url, w.config)
	}
	transport, upgrader, err := spdy.RoundTripperFor(w.config)
	if err != nil {
		return nil, err
	}
	return spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, url), nil
}

// stream is a forwarded connection. Its deadlines are those of the requests.
type stream struct {
	httpstream.Stream
	connection httpstream.Connection
}

func (s stream) Close() error {
	return errors.Join(s.Stream.Close(), s.connection.Close())
}
func (s stream) LocalAddr() net.Addr                { return &net.TCPAddr{} }
func (s stream) RemoteAddr() net.Addr               { return &net.TCPAddr{} }
func (s stream) SetDeadline(_ time.Time) error      { return nil }
func (s stream) SetReadDeadline(_ time.Time) error  { return nil }
func (s stream) SetWriteDeadline(_ time.Time) error { return nil }

// open opens the two streams of a connection to a port, and returns both.
func open(connection httpstream.Connection, request, port int) (data, failure httpstream.Stream, err error) {
	headers := http.Header{}
	headers.Set(corev1.PortHeader, strconv.Itoa(port))
	headers.Set(corev1.PortForwardRequestIDHeader, strconv.Itoa(request))
	headers.Set(corev1.StreamType, corev1.StreamTypeError)
	if failure, err = connection.CreateStream(headers); err != nil {
		return nil, nil, err
	}
	if err = failure.Close(); err != nil {
		return nil, nil, err
	}
	headers.Set(corev1.StreamType, corev1.StreamTypeData)
	data, err = connection.CreateStream(headers)
	return data, failure, err
}

// etcdStatus asks a member for its status, as cluster-api's control plane manager connects to it.
func (w *workload) etcdStatus(ctx context.Context, form, pod string) error {
	dialer, err := w.dialer(form, pod)
	if err != nil {
		return err
	}
	connection, protocol, err := dialer.Dial(portforward.PortForwardProtocolV1Name)
	if err != nil {
		return err
	}
	defer connection.Close()
	if protocol != portforward.PortForwardProtocolV1Name {
		return fmt.Errorf("the protocol is %q", protocol)
	}
	data, _, err := open(connection, 0, etcdPort)
	if err != nil {
		return err
	}
	config := w.etcd.Clone()
	// The name of the node; that of the Pod is not in the certificate.
	config.ServerName = strings.TrimPrefix(pod, "etcd-")
	secured := tls.Client(stream{data, connection}, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		return err
	}
	transport := &http.Transport{
		ForceAttemptHTTP2: true,
		DialTLSContext:    func(context.Context, string, string) (net.Conn, error) { return secured, nil },
	}
	defer transport.CloseIdleConnections()
	// An empty message without compression.
	body := bytes.NewReader(make([]byte, 5))
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://etcd/etcdserverpb.Maintenance/Status", body)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/grpc")
	request.Header.Set("TE", "trailers")
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	message, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if status := response.Trailer.Get("Grpc-Status"); status != "0" {
		return fmt.Errorf("etcd's status: %q %q", status, response.Trailer.Get("Grpc-Message"))
	}
	if !bytes.Contains(message, []byte("3.6.")) {
		return fmt.Errorf("etcd's status has no version: %q", message)
	}
	return nil
}

// refused connects to a port on which nothing listens, and then to one on which something does.
func (w *workload) refused(form, pod string) error {
	dialer, err := w.dialer(form, pod)
	if err != nil {
		return err
	}
	connection, _, err := dialer.Dial(portforward.PortForwardProtocolV1Name)
	if err != nil {
		return err
	}
	defer connection.Close()
	data, failure, err := open(connection, 0, 80)
	if err != nil {
		return err
	}
	message, err := io.ReadAll(failure)
	if err != nil {
		return err
	}
	if !strings.Contains(string(message), "connection refused") {
		return fmt.Errorf("the error is %q", message)
	}
	if rest, err := io.ReadAll(data); err != nil || len(rest) > 0 {
		return fmt.Errorf("a refused connection has the content %q, and the error %v", rest, err)
	}
	_, _, err = open(connection, 1, apiPort)
	return err
}

// api listens on a local port, as kubectl does, and sends requests of several clients through it.
func (w *workload) api(ctx context.Context, form, pod string) error {
	dialer, err := w.dialer(form, pod)
	if err != nil {
		return err
	}
	stop, ready, failed := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	var complaints bytes.Buffer
	forwarder, err := portforward.NewOnAddresses(dialer, []string{"127.0.0.1"}, []string{fmt.Sprintf(":%d", apiPort)}, stop, ready, io.Discard, &complaints)
	if err != nil {
		return err
	}
	go func() { failed <- forwarder.ForwardPorts() }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-ready:
	}
	ports, err := forwarder.GetPorts()
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	results := make(chan error, 8)
	for range cap(results) {
		all.Go(func() { results <- w.list(ctx, ports[0].Local) })
	}
	all.Wait()
	close(results)
	for err := range results {
		if err != nil {
			return err
		}
	}
	close(stop)
	if err := <-failed; err != nil {
		return err
	}
	if complaints.Len() > 0 {
		return fmt.Errorf("the port-forward complains: %s", complaints.String())
	}
	return nil
}

// list creates an object of half a megabyte through a local port, reads it, and deletes it.
func (w *workload) list(ctx context.Context, port uint16) error {
	config := rest.CopyConfig(w.config)
	config.Host = fmt.Sprintf("https://127.0.0.1:%d", port)
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	content := strings.Repeat("0123456789abcdef", 32*1024)
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "forwarded-"}, Data: map[string]string{"content": content}}
	maps := client.CoreV1().ConfigMaps("default")
	created, err := maps.Create(ctx, object, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	read, err := maps.Get(ctx, created.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if read.Data["content"] != content {
		return fmt.Errorf("%d bytes of %d came back", len(read.Data["content"]), len(content))
	}
	return maps.Delete(ctx, created.Name, metav1.DeleteOptions{})
}

func run() error {
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	w, err := connect(ctx, os.Args[1])
	if err != nil {
		return err
	}
	etcd, err := w.pod(ctx, "etcd")
	if err != nil {
		return err
	}
	api, err := w.pod(ctx, "kube-apiserver")
	if err != nil {
		return err
	}
	for _, form := range []string{"SPDY", "WebSocket"} {
		steps := []struct {
			name string
			step func() error
		}{
			{"etcd's status", func() error { return w.etcdStatus(ctx, form, etcd) }},
			{"a port without a server", func() error { return w.refused(form, api) }},
			{"eight clients of the API server", func() error { return w.api(ctx, form, api) }},
		}
		for _, step := range steps {
			if err := step.step(); err != nil {
				return fmt.Errorf("%s: %s: %w", form, step.name, err)
			}
			fmt.Printf("%s: %s\n", form, step.name)
		}
	}
	return nil
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: portforward CLUSTER")
	}
	if err := run(); err != nil {
		log.Fatal(err)
	}
}
