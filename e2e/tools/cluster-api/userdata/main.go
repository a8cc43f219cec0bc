// Command userdata writes files into user data as the kubeadm bootstrap provider does, by its own code: many
// cases at a time, for which an API server would be in the way. It reads JSON, {format, files: [{path,
// permissions, encoding, content}]}, and prints the user data of a worker.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	"sigs.k8s.io/cluster-api/bootstrap/kubeadm/pkg/cloudinit"
	"sigs.k8s.io/cluster-api/bootstrap/kubeadm/pkg/ignition"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "userdata:", err)
		os.Exit(1)
	}
}

func run() error {
	var input struct {
		Format bootstrapv1.Format
		Files  []bootstrapv1.File
	}
	if err := json.NewDecoder(os.Stdin).Decode(&input); err != nil {
		return err
	}
	node := &cloudinit.NodeInput{
		BaseUserData:      cloudinit.BaseUserData{AdditionalFiles: input.Files},
		JoinConfiguration: "kind: JoinConfiguration",
	}
	var userData []byte
	var err error
	if input.Format == bootstrapv1.Ignition {
		userData, _, err = ignition.NewNode(&ignition.NodeInput{NodeInput: node, Ignition: &bootstrapv1.IgnitionSpec{}})
	} else {
		userData, err = cloudinit.NewNode(node)
	}
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(userData)
	return err
}
