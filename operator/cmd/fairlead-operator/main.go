// Command fairlead-operator keeps the proxy configuration of a fleet of Cluster
// API clusters: two Secrets and a ProxyReport for each.
package main

import (
	"fmt"
	"io"
	"log"
	"os"
	"runtime"

	ctrl "sigs.k8s.io/controller-runtime"
)

func main() {
	log.SetOutput(io.Discard)  // net/http writes there what a proxy says unasked, which may be what it was told
	runtime.MemProfileRate = 0 // nobody can ask for a profile, which takes memory itself
	if err := command().ExecuteContext(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, "fairlead-operator:", err)
		os.Exit(1)
	}
}
