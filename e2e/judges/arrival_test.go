package judges_test

import (
	"encoding/base64"
	"fmt"
	"testing"

	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
)

// One machine gets all samples in its user data. What its programs then say is compared with what was meant.
func TestEveryValueArrivesInTheProgramsOfAMachine(t *testing.T) {
	all := allSamples(t)
	var files []file
	for i := range all {
		files = append(files, filesOf(t, &all[i])...)
	}
	m := boot(t, files)
	t.Run("by the drop-in of a unit", func(t *testing.T) { judgeDropIns(t, m, all) })
	t.Run("by the file of a unit", func(t *testing.T) { judgeEnvironmentFiles(t, m, all) })
	t.Run("by the same file in a shell", func(t *testing.T) { judgeShell(t, m, all) })
	t.Run("by a login", func(t *testing.T) { judgeLogins(t, m, all) })
	t.Run("by the patches of kubeadm", func(t *testing.T) { judgePatches(t, m, all) })
}

// filesOf writes a sample for every place, as machine templates name them.
func filesOf(t *testing.T, s *sample) []file {
	t.Helper()
	i := s.Number
	files := []file{
		plain(t, i, fmt.Sprintf("/etc/systemd/system/dropin-%d.service.d/http-proxy.conf", i), func() ([]byte, error) {
			return render.DropIn(s.Effective, noproxy.AudienceGo)
		}),
		either(t, s, resolve.FileEnvironmentFile, render.EnvironmentFileKey, fmt.Sprintf("/etc/judge/file-%d.env", i), render.EnvironmentFile),
	}
	s.Effective.Node.StaticPods = staticPods[s.controlPlane()%len(staticPods)]
	patch, err := render.StaticPodPatch(s.Effective, s.component())
	if s.pods = !isNotCarriable(err); s.pods {
		path := fmt.Sprintf("/etc/judge/patches-%d/%s0+strategic.json", s.controlPlane(), s.component())
		files = append(files, plain(t, i, path, func() ([]byte, error) { return patch, err }))
	}
	_, err = render.EtcEnvironment(s.Effective)
	switch {
	case err == nil:
		s.login = true
		path := fmt.Sprintf("/etc/judge/login-%d.env", i)
		files = append(files, either(t, s, resolve.FileEtcEnvironment, render.EtcEnvironmentKey, path, render.EtcEnvironment))
	case !isNotCarriable(err):
		t.Fatalf("sample %d: %v", i, err)
	}
	return files
}

// plain is a file that arrives as it is whatever the sample.
func plain(t *testing.T, i int, path string, write func() ([]byte, error)) file {
	t.Helper()
	content, err := write()
	if err != nil {
		t.Fatalf("sample %d, %s: %v", i, path, err)
	}
	return file{Path: path, Permissions: "0600", Content: string(content)}
}

// either takes the text as it stands in the Secret, or, where user data cannot carry it, in base64.
// A list for any client that cannot be in Helm values (control characters) comes in base64, too.
func either(t *testing.T, s *sample, kind resolve.NodeFile, key, path string, write func(resolve.Effective) ([]byte, error)) file {
	t.Helper()
	e := s.Effective
	e.Node.Files = []resolve.NodeFile{kind}
	secrets, err := render.Secrets(e)
	if err == nil {
		s.plain = true
		return file{Path: path, Permissions: "0600", Content: string(secrets[1].Data[key])}
	}
	content, err := write(e)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return file{Path: path, Permissions: "0600", Encoding: "base64", Content: base64.StdEncoding.EncodeToString(content)}
}
