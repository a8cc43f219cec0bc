// Package judges holds what package render writes against the programs that read it, for a thousand and more
// generated passwords and lists:
//
//	render → the bootstrap provider's user data → cloud-init → files of a machine → systemd, PAM, kubeadm
//
// Each of them says at the end what it has understood, and that must be what was meant.
package judges_test

import (
	"testing"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }
