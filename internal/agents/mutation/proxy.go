package mutation

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The rules of this file are those of fairlead-policies.proxy and .environment in the chart's _helpers.tpl.

// Linux starts no process with a longer variable (MAX_ARG_STRLEN).
const longestVariable = 131000

// The API server refuses a longer expression.
const longestExpression = 100000

var (
	proxyURL    = regexp.MustCompile(`^(?i)https?://(.*@)?[^@/ ]+:[0-9]{1,5}/?$`)
	control     = regexp.MustCompile(`[[:cntrl:]]`)
	blankWithin = regexp.MustCompile(`[^, ] +[^, ]`)
)

// entries are a list, or a text with commas.
type entries string

func (e *entries) UnmarshalJSON(data []byte) error {
	var list []string
	if json.Unmarshal(data, &list) == nil {
		*e = entries(strings.Join(list, ","))
		return nil
	}
	var text string
	if json.Unmarshal(data, &text) != nil {
		return errors.New("noProxy is neither a text nor a list of texts")
	}
	*e = entries(text)
	return nil
}

// proxySettings are the three settings, checked.
type proxySettings struct {
	http, https, noProxy string
	existing             bool // there are URLs, and somebody else brings them
}

func (s proxySettings) given() bool { return s.http != "" || s.https != "" || s.existing }

// speaksTLS tells whether the proxy itself does.
func (s proxySettings) speaksTLS() bool {
	return strings.HasPrefix(strings.ToLower(s.https), "https://")
}

// proxy returns what proxy says, and what that leaves empty from cluster.proxy. No error shows a value.
func (v Values) proxy() (proxySettings, error) {
	found := map[string]string{}
	paths := map[string]string{}
	for _, from := range []struct {
		path   string
		values proxyValues
	}{{"cluster.proxy.", v.Cluster.Proxy}, {"proxy.", v.Proxy}} {
		for key, value := range map[string]string{
			"http": from.values.HTTP, "https": from.values.HTTPS, "noProxy": string(from.values.NoProxy),
			"previous.http": from.values.Previous.HTTP, "previous.https": from.values.Previous.HTTPS,
		} {
			if value = strings.TrimSpace(value); value != "" {
				found[key], paths[key] = value, from.path+key
			}
		}
	}
	for _, key := range []string{"http", "previous.http", "https", "previous.https", "noProxy"} { // as Go's templates go through a map
		switch value := found[key]; {
		case value == "":
		case control.MatchString(value):
			return proxySettings{}, fmt.Errorf("%s has a line end or another control character in it", paths[key])
		case key == "noProxy" && blankWithin.MatchString(value):
			return proxySettings{}, fmt.Errorf("%s has a blank within an entry: write commas between entries, or a list", paths[key])
		case key != "noProxy" && !proxyURL.MatchString(value):
			return proxySettings{}, fmt.Errorf("%s is not a URL: write http://host:port, or https://host:port where the proxy itself speaks TLS", paths[key])
		}
	}
	if err := v.checkSource(); err != nil {
		return proxySettings{}, err
	}
	settings := proxySettings{http: found["http"], https: found["https"], noProxy: found["noProxy"]}
	listed := strings.Trim(settings.noProxy, ", ") != ""
	settings.existing = v.Source.Existing && (listed || v.Carry == CarrySecretRef) && !settings.given()
	if !settings.given() {
		settings.noProxy = ""
	} else if !listed && !settings.existing {
		return proxySettings{}, fmt.Errorf("cluster.proxy.noProxy (or proxy.noProxy) is empty while %s is set: everything inside the cluster would go through the proxy", cmp.Or(paths["http"], paths["https"]))
	}
	return settings, nil
}

// checkSource refuses what cannot be with a Secret that somebody else brings.
func (v Values) checkSource() error {
	switch {
	case v.Source.Existing && v.Carry == CarryLiteral:
		return errors.New("source.existing needs carry SecretRef or Relay: with carry Literal the chart itself writes the URLs of its values")
	case v.Source.Existing && v.Carry == CarrySecretRef && v.ManagementCluster.Enabled:
		return errors.New("managementCluster.enabled with source.existing needs carry Relay: with carry SecretRef pods get the list of that Secret, without managementCluster.endpointRanges")
	}
	return nil
}

// HasProxy tells whether the proxy is set.
func (v Values) HasProxy() bool {
	proxy, err := v.proxy()
	return err == nil && proxy.given()
}

// CheckCarried refuses to carry what is not there.
func (v Values) CheckCarried() error {
	if v.Carry != CarrySecretRef && !v.HasProxy() {
		return fmt.Errorf("carry is %s, and no proxy is set: give --values or --proxy, and --cluster", v.Carry)
	}
	return nil
}

// environment returns the six variables with their values.
func (v Values) environment() (map[string]string, error) {
	proxy, err := v.proxy()
	if err != nil {
		return nil, err
	}
	noProxy := proxy.noProxy
	if noProxy != "" && v.ManagementCluster.Enabled {
		if len(v.ManagementCluster.EndpointRanges) == 0 {
			return nil, errors.New("managementCluster.endpointRanges is empty while managementCluster.enabled is true: name the networks of the control-plane endpoints that pods of this cluster dial")
		}
		var known []string
		for entry := range strings.SplitSeq(noProxy, ",") {
			known = append(known, strings.TrimSpace(entry))
		}
		ranges := slices.Clone(v.ManagementCluster.EndpointRanges)
		for _, namespace := range v.ManagementCluster.TunnelNamespaces {
			ranges = append(ranges, "."+namespace)
		}
		for _, more := range ranges {
			if !slices.Contains(known, more) {
				known = append(known, more)
				noProxy = strings.TrimSuffix(noProxy, ",") + "," + more
			}
		}
	}
	for _, value := range []string{proxy.http, proxy.https, noProxy} {
		if len(value) > longestVariable {
			return nil, fmt.Errorf("one of http, https and noProxy is longer than %d bytes: Linux starts no process with such a variable", longestVariable)
		}
	}
	return map[string]string{
		"HTTP_PROXY": proxy.http, "http_proxy": proxy.http, "HTTPS_PROXY": proxy.https, "https_proxy": proxy.https,
		"NO_PROXY": noProxy, "no_proxy": noProxy,
	}, nil
}

// Namespace is that of the chart's release, as every page has it: here is no release.
const Namespace = "fairlead-system"

// entries are the six variables, as CEL, unless they are references: fairlead-policies.entries in the chart's _helpers.tpl.
func (v Values) entries() (string, error) {
	if v.Carry == CarrySecretRef {
		return "", nil
	}
	environment, err := v.environment()
	if err != nil {
		return "", err
	}
	proxy, err := v.proxy()
	if err != nil {
		return "", err
	}
	var list []string
	for _, name := range []string{"HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"} { // as Go's templates go through a map
		entry, err := v.entry(name, environment[name], proxy.existing)
		if err != nil {
			return "", err
		}
		list = append(list, entry)
	}
	text := "[" + strings.Join(list, ",") + "]"
	if len(text) > longestExpression {
		return "", fmt.Errorf("noProxy is too long for carry %s: the policy holds it twice, in an expression of at most 100000 characters; take carry SecretRef", v.Carry)
	}
	return text, nil
}

func (v Values) entry(name, value string, existing bool) (string, error) {
	// kubelet expands $(NAME) in a value and reads $$ as $ (k8s.io/kubernetes, third_party/forked/golang/expansion).
	value = strings.ReplaceAll(value, "$", "$$")
	if v.Carry == CarryLiteral {
		return cel(map[string]string{"name": name, "value": value})
	}
	expression, err := cel(value)
	if !strings.EqualFold(name, "NO_PROXY") && (value != "" || existing) {
		expression = v.relayURL()
	}
	return fmt.Sprintf(`{"name": dyn(%q), "value": dyn(%s)}`, name, expression), err
}

// relayURL is the relay as a pod names it, as CEL.
func (v Values) relayURL() string {
	host := cmp.Or(v.Relay.ClusterIP, "fairlead-relay."+Namespace+".svc")
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	host = strconv.Quote(host + ":3128")
	if v.Relay.OnMachines {
		host = `(object.spec.?hostNetwork.orValue(false) ? "127.0.0.1:3128" : ` + host + ")"
	}
	return `"http://" + namespaceObject.metadata.name + "@" + ` + host
}

// machines tells whether pods on the network of their node reach what the variables name.
func (v Values) machines(proxy proxySettings) bool {
	return v.Carry != CarryRelay || v.Relay.OnMachines || !proxy.given()
}

// cel writes data as CEL, which JSON is: as Sprig's toJson does, with the characters of HTML escaped.
func cel(data any) (string, error) {
	text, err := json.Marshal(data)
	return string(text), err
}
