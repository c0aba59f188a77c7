package main

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

const (
	starts = 21
	// envtest asks every 100 ms, which hides how long a start takes.
	poll = time.Millisecond
)

// measureStarts says how long both programs take from their start until they are healthy, with the certificates and flags of a
// running environment: medians, and those of the sums.
func measureStarts(environment *envtest.Environment) (string, error) {
	server := environment.ControlPlane.GetAPIServer()
	etcd := environment.ControlPlane.Etcd
	var etcdTimes, serverTimes, sums []time.Duration
	for range starts {
		addresses, err := freeAddresses(3)
		if err != nil {
			return "", err
		}
		client, peer, secure := addresses[0], addresses[1], addresses[2]
		first, err := startTime("http://"+client.String()+"/health", etcd.Path,
			"--advertise-client-urls=http://"+client.String(), "--listen-client-urls=http://"+client.String(),
			"--listen-peer-urls=http://"+peer.String(), "--data-dir="+etcd.DataDir+"/measured", "--unsafe-no-fsync=true")
		if err != nil {
			return "", err
		}
		second, err := startTime("https://"+secure.String()+"/healthz", server.Path,
			"--allow-privileged=true", "--authorization-mode=RBAC", "--bind-address=127.0.0.1", "--cert-dir="+server.CertDir,
			"--client-ca-file="+server.CertDir+"/client-cert-auth-ca.crt", "--disable-admission-plugins=ServiceAccount",
			"--etcd-servers=http://"+client.String(), fmt.Sprintf("--secure-port=%d", secure.Port),
			"--service-account-issuer=https://"+secure.String()+"/", "--service-account-key-file="+server.CertDir+"/sa-signer.crt",
			"--service-account-signing-key-file="+server.CertDir+"/sa-signer.key", "--service-cluster-ip-range=10.0.0.0/24")
		if err != nil {
			return "", err
		}
		etcdTimes, serverTimes, sums = append(etcdTimes, first), append(serverTimes, second), append(sums, first+second)
	}
	return fmt.Sprintf("etcd %v, kube-apiserver %v, both %v", median(etcdTimes), median(serverTimes), median(sums)), nil
}

func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2].Round(100 * time.Microsecond)
}

func freeAddresses(count int) ([]*net.TCPAddr, error) {
	var addresses []*net.TCPAddr
	for range count {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer listener.Close()
		addresses = append(addresses, listener.Addr().(*net.TCPAddr))
	}
	return addresses, nil
}

// startTime starts a program, waits until url answers 200, and ends it.
func startTime(url, path string, arguments ...string) (time.Duration, error) {
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	command := exec.Command(path, arguments...)
	begin := time.Now()
	if err := command.Start(); err != nil {
		return 0, err
	}
	defer func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		_ = command.Wait()
	}()
	for time.Since(begin) < deadline {
		answer, err := client.Get(url)
		if err == nil {
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return time.Since(begin), nil
			}
		}
		time.Sleep(poll)
	}
	return 0, fmt.Errorf("%s is not healthy after %v", path, deadline)
}
