package units_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/core/units"
)

// A later value with a specifier wins, whether it is known here or on the machine alone; one that is unknown is dropped.
func TestAKnownSpecifierDoesNotLetAnEarlierValueWin(t *testing.T) {
	const name = "k3s-my@a.service"
	for line, want := range map[string]struct {
		value, left, problem string
	}{
		"Environment=NO_PROXY=.svc,%H,%i":          {".svc,%H,a Environment=", "%H", ""},
		"Environment=NO_PROXY=.%p.example,a%%H":    {".k3s-my.example,a%H Environment=", "", ""},
		"Environment=HTTP_PROXY=http://u:p%%H@p:1": {"http://u:p%H@p:1 Environment=", "", ""},
		"Environment=HTTP_PROXY=http://u:p%C3@p:1": {"http://u:p/var/cache3@p:1 Environment=", "", "arrives as another one"},
		"Environment=HTTP_PROXY=http://u:p%40@p:1": {"old Environment=", "", "it drops the variable"},
		"Environment=NO_PROXY=%H,me@x.example":     {"%H,me@x.example Environment=", "%H", ""},
		"Environment=NO_PROXY=%z":                  {"old Environment=", "", "it drops the variable"},
		"EnvironmentFile=%E/%j.env":                {"file EnvironmentFile=", "", ""},
		"EnvironmentFile=/etc/%H.env":              {"old Environment=", "", "only the machine knows"},
		"EnvironmentFile=/etc/%1.env":              {"old Environment=", "", "it ignores the file"},
		"UnsetEnvironment=NO_PROXY=%i NO_PROXY=%z": {"old Environment=", "", ""},
	} {
		variable := "NO_PROXY"
		if strings.Contains(line, "//") {
			variable = "HTTP_PROXY"
		}
		all, s := got(t, map[string]string{
			name: unit, "k3s-my@.service.d/a.conf": unit + "Environment=" + variable + "=old\n", name + ".d/b.conf": unit + line + "\n", "etc/my.env": "NO_PROXY=file\n",
		}, name)
		if diff := cmp.Diff(map[string]string{variable: want.value}, all); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", line, diff)
		}
		wins, _ := s.Variables[0].Wins()
		if left := strings.Join(wins.Specifiers, " "); left != want.left {
			t.Errorf("%s: leaves %s, want %s", line, left, want.left)
		}
		if (want.problem == "") != (len(s.Problems) == 0) || want.problem != "" && !strings.Contains(s.Problems[0].Reason, want.problem) {
			t.Errorf("%s: %+v", line, s.Problems)
		}
	}
	services := units.Read(folder(map[string]string{"etc/systemd/system/kubelet.service": unit, "etc/systemd/system.conf": "[Manager]\nDefaultEnvironment=NO_PROXY=%n\n"}))
	if len(services) != 1 || len(services[0].Variables) > 0 || len(services[0].Problems) != 1 {
		t.Errorf("the manager's defaults have no unit: %+v", services)
	}
}
