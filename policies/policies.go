// Package policies holds the texts of the policies, for programs that evaluate or print them.
package policies

import "embed"

// Files has a folder for each policy, with a file of the same name in it.
//
//go:embed tunnel-environment/tunnel-environment.yaml tunnel-relay/tunnel-relay.yaml tunnel-sidecar/tunnel-sidecar.yaml inject-proxy-env/inject-proxy-env.yaml
var Files embed.FS
