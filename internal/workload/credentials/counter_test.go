package credentials

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/internal/core/probe"
	"github.com/fairlead-io/fairlead/internal/workload/upstream"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// cluster has the objects that a counter looks at.
type cluster struct {
	t                   *testing.T
	replicators, relays []corev1.Pod
	failed              error
	before              map[string]string
	own                 *upstream.Settings
	*Counter
}

func newCluster(t *testing.T, change ...func(*Options)) *cluster {
	t.Helper()
	c := &cluster{t: t, own: &upstream.Settings{}}
	options := Options{Copies: true, Relays: true, Period: 20 * time.Second, List: func(_ context.Context, o metav1.ListOptions) (*corev1.PodList, error) {
		if strings.HasSuffix(o.LabelSelector, "=relay") {
			return &corev1.PodList{Items: c.relays}, c.failed
		}
		return &corev1.PodList{Items: c.replicators}, c.failed
	}}
	options.Published = func(context.Context) (map[string]string, error) { return c.before, c.failed }
	options.Own = func() (*upstream.Settings, error) { return c.own, nil }
	for _, f := range change {
		f(&options)
	}
	c.Counter = New(options)
	c.at(0)
	return c
}

func (c *cluster) at(seconds int) {
	c.now = func() time.Time { return noon.Add(time.Duration(seconds) * time.Second) }
}

// pod is one whose metrics are the lines; an empty page is none.
func (c *cluster) pod(port string, lines ...string) corev1.Pod {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if len(lines) == 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		fmt.Fprintf(w, "# HELP go_info\ngo_info{version=\"go\"} 1\n%s\n", strings.Join(lines, "\n"))
	}))
	c.t.Cleanup(server.Close)
	at, _ := url.Parse(server.URL)
	host, number, _ := net.SplitHostPort(at.Host)
	n, _ := strconv.ParseInt(number, 10, 32)
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Ports: []corev1.ContainerPort{{Name: port, ContainerPort: int32(n)}}}}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning, PodIP: host},
	}
}

func (c *cluster) relay(lines ...string) corev1.Pod {
	for i, line := range lines {
		lines[i] = "fairlead_relay_credential_" + line
	}
	return c.pod("health", lines...)
}

func (c *cluster) replicator(lines ...string) corev1.Pod {
	for i, line := range lines {
		lines[i] = "fairlead_credentials_" + line
	}
	return c.pod("metrics", lines...)
}

// says compares a count: each as JSON without braces, times as seconds after noon, and what is not seen.
func (c *cluster) says(seen, unseen string) {
	c.t.Helper()
	found, missing := c.Count(c.t.Context())
	var all []string
	for _, s := range found {
		used := "never"
		if s.LastUsed != nil {
			used = fmt.Sprint(s.LastUsed.Sub(noon).Seconds())
		}
		all = append(all, fmt.Sprintf("%s %d/%d/%d %s", s.Fingerprint, s.Namespaces, s.Relays, s.Pods, used))
		if s.Refused {
			all[len(all)-1] += " refused"
		}
	}
	if got := strings.Join(all, ", "); got != seen {
		c.t.Errorf("%s\nwant %s", got, seen)
	}
	if got := strings.Join(missing, "; "); got != unseen {
		c.t.Errorf("not seen: %s\nwant %s", got, unseen)
	}
}

func TestCopiesPodsAndRelaysAreCounted(t *testing.T) {
	c := newCluster(t, func(o *Options) { o.Unseen = []string{"machines' relays"} })
	c.replicators = []corev1.Pod{
		c.replicator("counted 1", `copies{fingerprint="k.a"} 1`, `copies{fingerprint="k.b"} 9`, `pods{fingerprint="k.a"} 4`, `pods{fingerprint="unknown"} 2`),
		c.replicator("counted 1", `copies{fingerprint="k.a"} 2`, `copies{fingerprint="k.b"} 8`), // looked a moment later
		c.replicator("counted 0", `copies{fingerprint="k.c"} 2`),
	}
	c.relays = []corev1.Pod{
		c.relay(`configured{credential="current",fingerprint="k.b"} 1`, `configured{credential="previous",fingerprint="k.a"} 1`,
			`last_accepted_timestamp_seconds{fingerprint="k.b"} 1.7723664e+09`, `last_refused_timestamp_seconds{fingerprint="k.a"} 1.7723663e+09`),
		c.relay(`configured{credential="current",fingerprint="k.b"} 1`, `tunnels{fingerprint="k.b"} 3`, `tunnels{fingerprint="k.a"} 0`, `requests{fingerprint="k.b"} 1`),
		c.relay(`configured{credential="current",fingerprint="k.b"} 1`, `tunnels{fingerprint="0123456789abcdef"} 1`),
	}
	c.says("k.a 2/1/4 0 refused, k.b 9/3/0 0",
		"machines' relays; pods that started before anybody noted their credentials, and are to be restarted: 2; "+
			"relays with credentials, or tunnels from before, whose fingerprint did not come with the settings: 1")
}

// The chart cannot tell everywhere whether the Secret of an earlier carry is still there, and it can go without an upgrade.
func TestCopiesOfAnEarlierCarryAreInQuestionUntilTheirSecretIsGone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "no_proxy")
	c := newCluster(t, func(o *Options) { o.Copies, o.Relays, o.CopiesLeft = false, false, file })
	c.says("", "")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	const left = "copies of the Secret fairlead-proxy from carry SecretRef, and pods with them: delete the Secret in this namespace when none is left"
	c.says("", left)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	c.at(60)
	c.says("", "")
}

// What a relay had stays in question for a while: the count says when it was last seen.
func TestWhoHadCredentialsIsRemembered(t *testing.T) {
	c := newCluster(t, func(o *Options) { o.Copies = false })
	c.relays = []corev1.Pod{c.relay(`configured{credential="current",fingerprint="k.a"} 1`)}
	c.says("k.a 0/1/0 0", "")
	c.relays = []corev1.Pod{c.relay(`configured{credential="current",fingerprint="k.b"} 1`)}
	c.at(20)
	c.says("k.b 0/1/0 20, k.a 0/0/0 0", "")
	published, _ := json.Marshal(probe.Result{Version: 1, Credentials: func() []probe.CredentialsSeen { s, _ := c.Count(t.Context()); return s }()})
	again := newCluster(t, func(o *Options) { o.Copies = false })
	again.before = map[string]string{probe.ResultKey: string(published)}
	again.relays = c.relays
	again.at(40)
	again.says("k.b 0/1/0 40, k.a 0/0/0 0", "")
	again.relays = []corev1.Pod{c.relay(`configured{credential="current",fingerprint="k.b"} 1`, `last_accepted_timestamp_seconds{fingerprint="k.a"} 1.77236643e+09`)}
	again.says("k.b 0/1/0 40, k.a 0/0/0 30", "")
}

// The probe tries targets with the settings of its folder, which may be older than those of relays.
func TestTheProbeItselfUsesCredentials(t *testing.T) {
	c := newCluster(t, func(o *Options) { o.Copies = false })
	var err error
	c.own, err = upstream.Parse(map[string]string{"HTTPS_PROXY": "http://a:1@p:1", "FINGERPRINT": "k.a", "HTTP_PROXY": "http://b:2@p:1"})
	if err != nil {
		t.Fatal(err)
	}
	c.says("k.a 0/0/0 0", "")
	c.own, _ = upstream.Parse(map[string]string{"HTTPS_PROXY": "http://a:1@p:1"}) // nobody counts there
	c.at(20)
	c.says("k.a 0/0/0 0", "")
}

func TestWhatCannotBeLookedAtIsNamed(t *testing.T) {
	c := newCluster(t)
	counted := c.replicator("counted 1")
	waits, ended, pending := c.relay(), c.relay(), c.relay()
	waits.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}}}
	ended.Status.Phase, pending.Status.Phase = corev1.PodFailed, corev1.PodPending
	silent, nowhere := c.relay(), c.relay()
	nowhere.Status.PodIP, nowhere.Spec.Containers = "", nil
	for name, row := range map[string]struct {
		replicators, relays []corev1.Pod
		failed              error
		want                string
	}{
		"all is there":       {[]corev1.Pod{counted}, []corev1.Pod{c.relay("configured 0")}, nil, ""},
		"no replicator":      {nil, nil, nil, "copies and pods: no replicator counts them"},
		"it does not count":  {[]corev1.Pod{c.replicator("counted 0")}, nil, nil, "copies and pods: no replicator counts them"},
		"one does":           {[]corev1.Pod{c.replicator("counted 0"), c.replicator(), counted}, nil, nil, ""},
		"silent relays":      {[]corev1.Pod{counted}, []corev1.Pod{silent, nowhere}, nil, "relays that do not answer: 2"},
		"relays without any": {[]corev1.Pod{counted}, []corev1.Pod{waits, ended, pending}, nil, ""},
		"no right to list":   {nil, nil, errors.New("forbidden"), "copies and pods: the replicator's pods cannot be listed: forbidden; relays: their pods cannot be listed: forbidden; what was seen before cannot be read: forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			c.replicators, c.relays, c.failed = row.replicators, row.relays, row.failed
			c.says("", row.want)
		})
	}
}

// One good look after a bad one says little.
func TestWhatWasNotSeenAMomentAgoIsNamed(t *testing.T) {
	c := newCluster(t, func(o *Options) { o.Copies = false })
	c.relays = []corev1.Pod{c.relay()}
	c.says("", "relays that do not answer: 1")
	c.relays = nil
	c.at(20)
	c.says("", "relays that do not answer: 1")
	c.at(40)
	c.says("", "")
}

func TestAPageOfMetricsIsRead(t *testing.T) {
	m := parse("fairlead_relay_credential_tunnels{fingerprint=\"a b+/=\"} 3\nfairlead_relay_credential_tunnels{fingerprint=\"x\"} NaN\n" +
		"fairlead_relay_credential_tunnels{fingerprint=\"y\"\nfairlead_relay_credential_configured{fingerprint=\"a\",credential=\"x\"} 1 \nother 3\n" +
		"fairlead_relay_credential_last_accepted_timestamp_seconds{fingerprint=\"a\"} 1e+300\n")
	if m[relayTunnels]["a b+/="] != 3 || len(m[relayTunnels]) != 1 || m[relayConfigured]["a"] != 1 || m.at(relayAccepted, "a") != nil || len(m) != 3 {
		t.Error(m)
	}
}
