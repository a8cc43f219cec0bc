package judges_test

import (
	"fmt"
	"testing"

	"github.com/fairlead-io/fairlead/e2e/clusterapi"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/noproxy"
)

// The provider's own way to Ignition pastes the text into a Container Linux Config and transpiles that. No
// machine here takes Ignition 2.3, so the test reads the transpiled config.
func TestEveryDropInArrivesByTheIgnitionOfTheBootstrapProvider(t *testing.T) {
	all := allSamples(t)
	var files []file
	want := map[string]string{}
	for _, s := range all {
		path := fmt.Sprintf("/etc/systemd/system/dropin-%d.service.d/http-proxy.conf", s.Number)
		dropIn := plain(t, s.Number, path, func() ([]byte, error) { return render.DropIn(s.Effective, noproxy.AudienceGo) })
		files, want[path] = append(files, dropIn), dropIn.Content
	}
	data := clusterapi.BootstrapData{Format: "ignition", Value: userData(t, "ignition", files)}
	got, err := data.Files()
	controlplanetest.Require(t, err)
	for path, content := range want {
		if got[path].Content != content || got[path].Permissions != "0600" {
			t.Errorf("%s is %+v, want\n%s", path, got[path], content)
		}
	}
}
