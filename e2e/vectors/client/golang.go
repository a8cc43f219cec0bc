package client

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"strings"
	"time"
)

// GoMode is the value of FAIRLEAD_VECTORS with which this program is the Go client.
const GoMode = "go-client"

const goMode = "FAIRLEAD_VECTORS=" + GoMode

// GoMain is the main function of the Go client: net/http of the toolchain that
// built it. It reads its environment once in a process.
func GoMain() {
	if os.Args[1] == "--version" {
		fmt.Println(strings.TrimPrefix(runtime.Version(), "go"))
		return
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
	client := http.Client{Transport: transport, Timeout: 8 * time.Second}
	response, err := client.Get(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	response.Body.Close()
}
