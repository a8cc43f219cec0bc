// Package judges compares the output of package render with the programs that read it, for a thousand and
// more generated passwords and lists:
//
//	render → the bootstrap provider's user data → cloud-init → files of a machine → systemd, PAM, kubeadm
//
// At the end, each program must have understood the value that was meant.
package judges_test

import (
	"testing"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }
