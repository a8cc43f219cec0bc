// Command expand does what the kubelet does with the values of environment variables in a pod: it replaces
// $(NAME). It reads a JSON array of texts and prints the array of what became of them.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"k8s.io/kubernetes/third_party/forked/golang/expansion"
)

func main() {
	var texts []string
	err := json.NewDecoder(os.Stdin).Decode(&texts)
	if err == nil {
		known := expansion.MappingFuncFor(map[string]string{"HOME": "expanded"})
		for i, text := range texts {
			texts[i] = expansion.Expand(text, known)
		}
		err = json.NewEncoder(os.Stdout).Encode(texts)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "expand:", err)
		os.Exit(1)
	}
}
