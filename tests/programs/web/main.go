// A web server for tests, and its client: `web` answers on port 8080 with the name of its host, `web get URL` prints an answer.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

func main() {
	if len(os.Args) == 3 && os.Args[1] == "get" {
		client := http.Client{Timeout: 5 * time.Second}
		response, err := client.Get(os.Args[2])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		io.Copy(os.Stdout, response.Body)
		return
	}
	name, err := os.Hostname()
	if err != nil {
		panic(err)
	}
	err = http.ListenAndServe(":8080", http.HandlerFunc(func(answer http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(answer, name)
	}))
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
