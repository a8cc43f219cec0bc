package render_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/fairlead-io/fairlead/internal/core/cabundle/cabundletest"
	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
)

// meaning returns the meaning of a configuration with everything in it, after a change.
func meaning(t *testing.T, change func(*resolve.Effective)) []byte {
	t.Helper()
	e := example(t, func(e *resolve.Effective) {
		e.NoProxy = noproxy.Lists{Any: list("a.example", "b.example"), Go: list("a.example", "10.0.0.0/8")}
		e.Node = resolve.Node{TrustedCA: []byte("one"), StaticPods: resolve.StaticPodsStrip}
	}, change)
	text, err := render.Meaning(e)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestWhatMachinesAreToldChangesTheMeaning(t *testing.T) {
	before := meaning(t, func(*resolve.Effective) {})
	for name, change := range map[string]func(*resolve.Effective){
		"the password":        func(e *resolve.Effective) { e.HTTP = url(t, "http://myProxyUser:other@192.168.52.220:3128") },
		"the proxy for https": func(e *resolve.Effective) { e.HTTPS = url(t, "http://192.168.52.221:3128") },
		"no proxy for https":  func(e *resolve.Effective) { e.HTTPS = proxyurl.URL{} },
		"no proxy for http":   func(e *resolve.Effective) { e.HTTP = proxyurl.URL{} },
		"an entry for Go":     func(e *resolve.Effective) { e.NoProxy.Go = list("a.example", "10.0.0.0/9") },
		"an entry for others": func(e *resolve.Effective) { e.NoProxy.Any = list("a.example") },
		"the lists swapped":   func(e *resolve.Effective) { e.NoProxy.Any, e.NoProxy.Go = e.NoProxy.Go, e.NoProxy.Any },
		"certificates":        func(e *resolve.Effective) { e.Node.TrustedCA = []byte("two") },
		"no certificates":     func(e *resolve.Effective) { e.Node.TrustedCA = nil },
		"the mode of pods":    func(e *resolve.Effective) { e.Node.StaticPods = resolve.StaticPodsSet },
	} {
		if bytes.Equal(before, meaning(t, change)) {
			t.Errorf("%s: the meaning is the same", name)
		}
	}
}

func TestHowItIsWrittenDoesNotChangeTheMeaning(t *testing.T) {
	before := meaning(t, func(*resolve.Effective) {})
	for name, change := range map[string]func(*resolve.Effective){
		"the order of the lists": func(e *resolve.Effective) {
			slices.Reverse(e.NoProxy.Go)
			slices.Reverse(e.NoProxy.Any)
		},
		"an entry twice": func(e *resolve.Effective) { e.NoProxy.Go = append(e.NoProxy.Go, e.NoProxy.Go[0]) },
		"further keys": func(e *resolve.Effective) {
			e.Node.Units, e.Node.Files = []string{"crio.service"}, []resolve.NodeFile{resolve.FileStaticPods}
		},
		"the mode of pods, by default": func(e *resolve.Effective) { e.Node.StaticPods = "" },
		"twins in base64":              func(e *resolve.Effective) { e.Node.Base64Twins = true },
		"the delivery, by default":     func(e *resolve.Effective) { e.Node.Delivery = resolve.DeliveryLiteral },
		"previous credentials":         withPrevious(t),
		"the name of the proxy":        func(e *resolve.Effective) { e.Proxy = "other" },
		"who asked for an entry": func(e *resolve.Effective) {
			e.NoProxy.Go[0].Sources = []noproxy.Source{{Layer: noproxy.LayerCluster}}
		},
	} {
		if after := meaning(t, change); !bytes.Equal(before, after) {
			t.Errorf("%s: the meaning is another: %s", name, after)
		}
	}
}

// What the relay of a machine reads anew is no reason to replace the machine.
func TestWhatOnlyTheRelayReadsDoesNotChangeTheMeaning(t *testing.T) {
	relayed := func(changes ...func(*resolve.Effective)) []byte {
		return meaning(t, func(e *resolve.Effective) {
			byRelay(e)
			for _, change := range changes {
				change(e)
			}
		})
	}
	before := relayed()
	for name, change := range map[string]func(*resolve.Effective){
		"the password":     func(e *resolve.Effective) { e.HTTP = url(t, "http://myProxyUser:other@192.168.52.220:3128") },
		"the proxy":        func(e *resolve.Effective) { e.HTTPS = url(t, "https://192.168.52.221:3129") },
		"previous":         withPrevious(t),
		"the relay itself": func(e *resolve.Effective) { e.Node.Relay.Image = "registry.example/relay:2" },
	} {
		if after := relayed(change); !bytes.Equal(before, after) {
			t.Errorf("%s: the meaning is another: %s", name, after)
		}
	}
	for name, change := range map[string]func(*resolve.Effective){
		"no proxy for https": func(e *resolve.Effective) { e.HTTPS = proxyurl.URL{} },
		"an entry for Go":    func(e *resolve.Effective) { e.NoProxy.Go = list("a.example") },
		"certificates":       func(e *resolve.Effective) { e.Node.TrustedCA = []byte("two") },
		"the delivery":       func(e *resolve.Effective) { e.Node.Delivery = resolve.DeliveryLiteral },
	} {
		if bytes.Equal(before, relayed(change)) {
			t.Errorf("%s: the meaning is the same", name)
		}
	}
}

func TestTheOrderOfCertificatesDoesNotChangeTheMeaning(t *testing.T) {
	one, _ := cabundletest.Authority(t, "one")
	two, _ := cabundletest.Authority(t, "two")
	with := func(bundle string) []byte {
		return meaning(t, func(e *resolve.Effective) { e.Node.TrustedCA = []byte(bundle) })
	}
	if !bytes.Equal(with(one+two), with(two+one)) {
		t.Error("another order is another meaning")
	}
	if bytes.Equal(with(one+two), with(one)) {
		t.Error("one certificate less is not")
	}
}

// A report holds the digest of this text from one version of Fairlead to the next.
// If it changes, an upgrade that writes the Secret anew makes every machine outdated.
func TestTheMeaningIsWrittenAsItHasAlwaysBeen(t *testing.T) {
	const want = `{"HTTP":"http://myProxyUser:mySuperSecretPassword@192.168.52.220:3128",` +
		`"HTTPS":"http://myProxyUser:mySuperSecretPassword@192.168.52.220:3128",` +
		`"Go":["10.0.0.0/8","a.example"],"Any":["a.example","b.example"],"TrustedCA":["one"],"StaticPods":"Strip"}`
	if got := string(meaning(t, func(*resolve.Effective) {})); got != want {
		t.Error(got)
	}
}
