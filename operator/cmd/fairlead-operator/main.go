// Command fairlead-operator keeps the proxy configuration of a fleet of Cluster
// API clusters: two Secrets and a ProxyReport for each.
package main

import (
	"fmt"
	"os"

	ctrl "sigs.k8s.io/controller-runtime"
)

func main() {
	if err := command().ExecuteContext(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, "fairlead-operator:", err)
		os.Exit(1)
	}
}
