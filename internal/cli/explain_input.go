package cli

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/cli/fleet"
	"github.com/fairlead-io/fairlead/internal/cli/terminal"
	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
	"github.com/fairlead-io/fairlead/noproxy/dialect"
	"github.com/fairlead-io/fairlead/noproxy/explain"
)

// standInProxy is where no proxy is given: which one it is decides nothing.
const standInProxy = "http://proxy.example:3128"

// subject is the configuration that is explained.
type subject struct {
	title         string
	configuration explain.Configuration
	ends          []fleet.End
}

// until says when an entry from there ends, and who knows why; empty: it does not.
func (s subject) until(from *explain.Source) string {
	if from == nil {
		return ""
	}
	at := slices.IndexFunc(s.ends, func(e fleet.End) bool { return e.Covers(from.Object, from.Field) })
	if at < 0 {
		return ""
	}
	e := s.ends[at]
	return fmt.Sprintf("until %s, by %s: %s", e.Time.UTC().Format(time.RFC3339), terminal.Said(e.Owner, 80), terminal.Said(e.Reason, 240))
}

func (o *explainOptions) subject(cmd *cobra.Command) (subject, error) {
	if o.given("no-proxy") {
		c := explain.Configuration{HTTP: o.httpProxy, HTTPS: o.httpsProxy, List: explain.Written(o.noProxy, "--no-proxy")}
		if !o.given("http-proxy") && !o.given("https-proxy") {
			c.HTTP, c.HTTPS = standInProxy, standInProxy
		}
		return subject{title: "A list as it stands", configuration: c}, nil
	}
	effective, found, err := oneOfFleet(cmd, o.renderOptions, "explain is about")
	if err != nil {
		return subject{}, err
	}
	ends, err := found.Ends(found.Clusters[0])
	if err != nil {
		return subject{}, err
	}
	if effective.Mode != resolve.ModeProxied {
		fmt.Fprintf(cmd.ErrOrStderr(), "warning: Cluster %s/%s has no proxy: its mode is %s\n", effective.Namespace, effective.Cluster, effective.Mode)
	}
	has := effective
	if o.audience == string(noproxy.AudienceGo) { // programs of machines
		has = render.OnMachine(effective)
	}
	return subject{
		title: o.titleOf(effective), ends: ends,
		configuration: explain.Configuration{
			HTTP:  has.HTTP.WithoutCredentials().String(),
			HTTPS: has.HTTPS.WithoutCredentials().String(),
			List:  explain.Rendered(effective.NoProxy.For(noproxy.Audience(o.audience))),
		},
	}, nil
}

func (o *explainOptions) titleOf(effective resolve.Effective) string {
	title := "Cluster " + effective.Namespace + "/" + effective.Cluster
	switch {
	case effective.Mode != resolve.ModeProxied:
		title += ", mode " + string(effective.Mode)
	case effective.Form == resolve.FormExact:
		title += ", form " + string(effective.Form)
	default:
		title += ", form " + string(effective.Form) + ", audience " + o.audience
	}
	return title
}

// targets returns the URLs, with what --resolve says about their hosts.
func (o *explainOptions) targets() ([]dialect.Target, error) {
	targets := make([]dialect.Target, len(o.urls))
	for i, text := range o.urls {
		target, err := parseURL(text)
		if err != nil {
			return nil, fmt.Errorf("URL %d: %w", i+1, err)
		}
		targets[i] = target
	}
	for _, text := range o.resolve {
		host, address, _ := strings.Cut(text, "=")
		addr, err := netip.ParseAddr(strings.Trim(address, "[]"))
		if err != nil {
			return nil, fmt.Errorf("--resolve %q: host=address is expected", text)
		}
		if !resolveTo(targets, host, addr) {
			return nil, fmt.Errorf("--resolve %q: no URL has this host", text)
		}
	}
	return targets, nil
}

func resolveTo(targets []dialect.Target, host string, addr netip.Addr) bool {
	found := false
	for i := range targets {
		if strings.EqualFold(strings.TrimSuffix(targets[i].Host, "."), strings.TrimSuffix(host, ".")) {
			targets[i].Addrs = append(targets[i].Addrs, addr)
			found = true
		}
	}
	return found
}

// parseURL names the URL in its error, but for what may be a password.
func parseURL(text string) (dialect.Target, error) {
	if scheme, _, ok := strings.Cut(text, "://"); ok && !strings.ContainsAny(scheme, "/?#") {
		if strings.ContainsAny(scheme, ":@") {
			return dialect.Target{}, errors.New("the scheme is http or https")
		}
		if _, err := dialect.ParseTarget(scheme + "://host"); err != nil { // of another scheme, a port is none that can be told from a password
			return dialect.Target{}, err
		}
	}
	if _, err := netip.ParsePrefix(text); err == nil {
		return dialect.Target{}, fmt.Errorf("%q is a network: give a URL or a host", text)
	}
	target, err := dialect.ParseTarget(text)
	if err != nil {
		return target, fmt.Errorf("%q: %w", terminal.Shortened(noproxy.Redacted(text)), err)
	}
	return target, nil
}
