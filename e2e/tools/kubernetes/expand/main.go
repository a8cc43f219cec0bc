// Command expand does what the kubelet does with the environment of a container (pkg/kubelet/kubelet_pods.go,
// makeEnvironmentVariables): in their order, it replaces $(NAME) in values by what an earlier variable has. It
// reads a JSON array of variables and prints the array of their values.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"k8s.io/kubernetes/third_party/forked/golang/expansion"
)

type variable struct {
	Name, Value string
	From        bool // elsewhere, by valueFrom: that is not expanded
}

func main() {
	var variables []variable
	err := json.NewDecoder(os.Stdin).Decode(&variables)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(expand(variables))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "expand:", err)
		os.Exit(1)
	}
}

func expand(variables []variable) []string {
	known := map[string]string{}
	mapping := expansion.MappingFuncFor(known)
	values := []string{}
	for _, v := range variables {
		if !v.From {
			v.Value = expansion.Expand(v.Value, mapping)
		}
		known[v.Name] = v.Value
		values = append(values, v.Value)
	}
	return values
}
