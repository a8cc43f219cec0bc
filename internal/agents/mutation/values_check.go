package mutation

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// check is what the chart's schema says.
func (v Values) check() error {
	if carries := []string{CarrySecretRef, CarryLiteral, CarryRelay}; !slices.Contains(carries, v.Carry) {
		return fmt.Errorf("carry is one of %s, not %q", strings.Join(carries, ", "), v.Carry)
	}
	if err := v.checkTexts(); err != nil {
		return err
	}
	for kind := range v.Tunnels.Relay.Resources {
		if kind != "requests" && kind != "limits" {
			return fmt.Errorf("tunnels.relay.resources has requests and limits, not %q", kind)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v.Tunnels.Families)) {
		family := v.Tunnels.Families[name]
		if !familyName.MatchString(name) {
			return fmt.Errorf("tunnels.families.%s: the name is not of the form %s", name, familyName)
		}
		if err := family.check(); err != nil {
			return fmt.Errorf("tunnels.families.%s: %w", name, err)
		}
	}
	return nil
}

// The forms of texts, as the schema has them.
var (
	namespaceName  = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
	familyName     = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,50}[a-z0-9])?$`)
	notEmpty       = regexp.MustCompile(`(?s)^.+$`)
	labelPattern   = regexp.MustCompile(`^[^=]+=`)
	listEntry      = regexp.MustCompile(`^[^\s,]+$`)
	relayTarget    = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?:[1-9][0-9]{0,4}$`)
	clusterAddress = regexp.MustCompile(`^[0-9a-fA-F.:]*$`)
	imageDigest    = regexp.MustCompile(`^(sha256:[0-9a-f]{64})?$`)
	proxyVariable  = regexp.MustCompile(`^(HTTP_PROXY|http_proxy|HTTPS_PROXY|https_proxy)$`)
)

func (v Values) checkTexts() error {
	return errors.Join(
		ofForm("exclude.namespaces", v.excluded().Namespaces, namespaceName), ofForm("tunnels.namespaces", v.Tunnels.Namespaces, namespaceName),
		ofForm("managementCluster.tunnelNamespaces", v.ManagementCluster.TunnelNamespaces, namespaceName),
		ofForm("managementCluster.endpointRanges", v.ManagementCluster.EndpointRanges, listEntry),
		ofForm("exclude.sources", v.Exclude.Sources, notEmpty), ofForm("exclude.names", v.excluded().Names, notEmpty), ofForm("exclude.labels", v.excluded().Labels, labelPattern),
		ofForm("relay.clusterIP", []string{v.Relay.ClusterIP}, clusterAddress),
		ofForm("tunnels.relay.image.digest", []string{v.Tunnels.Relay.Image.Digest}, imageDigest),
	)
}

// ofForm refuses a text of another form, and does not repeat it.
func ofForm(field string, texts []string, form *regexp.Regexp) error {
	if slices.ContainsFunc(texts, func(text string) bool { return !form.MatchString(text) }) {
		return fmt.Errorf("%s has an element that is not of the form %s", field, form)
	}
	return nil
}

func (f Family) check() error {
	ways := []string{ThroughEnvironment, ThroughSidecar, ThroughRelay, ThroughNone}
	if !slices.Contains(ways, f.Through) {
		return fmt.Errorf("through is one of %s, not %q", strings.Join(ways, ", "), f.Through)
	}
	if f.ThroughTLS != "" && !slices.Contains(ways, f.ThroughTLS) {
		return fmt.Errorf("throughTLS is one of %s, not %q", strings.Join(ways, ", "), f.ThroughTLS)
	}
	if len(f.Labels) == 0 {
		return errors.New("labels is empty: the policy would be for every pod")
	}
	goes := func(way string) bool { return f.Through == way || f.ThroughTLS == way }
	switch {
	case len(f.Reads) == 0 && goes(ThroughEnvironment):
		return errors.New("reads is missing: which variables the agent reads")
	case len(f.Reads) == 0 && len(f.Flag) == 0 && goes(ThroughSidecar):
		return errors.New("reads or flag is missing: which variables the agent reads, or its flag")
	case len(f.Flag) != 0 && len(f.Flag) != 2:
		return errors.New("flag is not a flag and the word before it")
	}
	if err := errors.Join(
		ofForm("reads", f.Reads, proxyVariable), ofForm("targets", f.Targets, relayTarget),
		ofForm("containers", f.Containers, notEmpty), ofForm("flag", f.Flag, notEmpty),
	); err != nil {
		return err
	}
	for key, values := range f.Labels {
		if len(values) == 0 {
			return fmt.Errorf("labels.%s is empty", key)
		}
	}
	for _, argument := range f.Arguments {
		if len(argument) != 2 {
			return errors.New("an entry of arguments is not a flag and its value")
		}
	}
	return nil
}
