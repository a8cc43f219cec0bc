// Package version holds the version of this build.
package version

// Version is set at build time:
//
//	go build -ldflags "-X github.com/fairlead-io/fairlead/operator/internal/version.Version=v0.1.0"
var Version = "v0.0.0-dev"
