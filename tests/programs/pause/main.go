// The first process of a pod: holds its namespaces, and reaps processes without a parent, until it is told to stop.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGCHLD)
	for received := range signals {
		if received != syscall.SIGCHLD {
			return
		}
		for {
			reaped, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
			if reaped <= 0 || (err != nil && err != syscall.EINTR) {
				break
			}
		}
	}
}
