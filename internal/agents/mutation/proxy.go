package mutation

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
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
type proxySettings struct{ http, https, noProxy string }

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
		for key, value := range map[string]string{"http": from.values.HTTP, "https": from.values.HTTPS, "noProxy": string(from.values.NoProxy)} {
			if value = strings.TrimSpace(value); value != "" {
				found[key], paths[key] = value, from.path+key
			}
		}
	}
	for _, key := range []string{"http", "https", "noProxy"} {
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
	settings := proxySettings{found["http"], found["https"], found["noProxy"]}
	if settings.http == "" && settings.https == "" {
		settings.noProxy = ""
	} else if strings.Trim(settings.noProxy, ", ") == "" {
		return proxySettings{}, fmt.Errorf("cluster.proxy.noProxy (or proxy.noProxy) is empty while %s is set: everything inside the cluster would go through the proxy", cmp.Or(paths["http"], paths["https"]))
	}
	return settings, nil
}

// HasProxy tells whether the proxy is set.
func (v Values) HasProxy() bool {
	proxy, err := v.proxy()
	return err == nil && (proxy.http != "" || proxy.https != "")
}

// CheckCarried refuses to carry what is not there.
func (v Values) CheckCarried() error {
	if v.Carry == CarryLiteral && !v.HasProxy() {
		return errors.New("carry is Literal, and no proxy is set: give --values or --proxy, and --cluster")
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

// literals are the six variables with their values, as CEL.
func (v Values) literals() (string, error) {
	environment, err := v.environment()
	if err != nil {
		return "", err
	}
	var list []map[string]string
	for _, name := range []string{"HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"} { // as Go's templates go through a map
		// kubelet expands $(NAME) in a value and reads $$ as $ (k8s.io/kubernetes, third_party/forked/golang/expansion).
		list = append(list, map[string]string{"name": name, "value": strings.ReplaceAll(environment[name], "$", "$$")})
	}
	text, err := cel(list)
	if err == nil && len(text) > longestExpression {
		err = errors.New("noProxy is too long for carry Literal: the policy holds it twice, in an expression of at most 100000 characters; take carry SecretRef")
	}
	return text, err
}

// cel writes data as CEL, which JSON is: as Sprig's toJson does, with the characters of HTML escaped.
func cel(data any) (string, error) {
	text, err := json.Marshal(data)
	return string(text), err
}
