package probe

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/fairlead-io/fairlead/internal/core/probe"
	"github.com/fairlead-io/fairlead/internal/workload/upstream"
)

func TestAResultSaysWhichRevisionWasTried(t *testing.T) {
	target, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = target.Close() })
	for written, want := range map[string]string{"corp/7/0123\n": "corp/7/0123", "": "", "two words": ""} {
		folder := t.TempDir()
		for name, text := range map[string]string{upstream.HTTPSFile: "http://proxy.example:3128", upstream.RevisionFile: written} {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		log := slog.New(slog.DiscardHandler)
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: probe.ConfigMapName}}
		a := &agent{
			Options: Options{Period: time.Minute, Client: "go", Log: log}, prober: NewProber(time.Second), folder: upstream.NewFolder(folder, log),
			fixed:   []probe.Target{{URL: fmt.Sprint("tcp://", target.Addr()), Expect: probe.Reachable, Route: probe.Direct}},
			publish: publisher{client: fake.NewClientBuilder().WithObjects(object).Build(), namespace: "system", log: log},
		}
		a.round(t.Context())
		if result, err := a.publish.read(t.Context()); err != nil || result.Revision != want || len(result.Targets) != 1 {
			t.Errorf("%q: %+v, %v", written, result, err)
		}
	}
}
