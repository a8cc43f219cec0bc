package bundle

import (
	"encoding/base64"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

var (
	// withUser is a URL that says who somebody is.
	withUser = regexp.MustCompile(`(?i)https?://[^\s"'/@]+@[^\s"'/]`)
	// literal matches a proxy variable with a value, as carry Literal writes it into a
	// policy.
	literal = regexp.MustCompile(`(?i)"https?_proxy"\s*,\s*"value"\s*:\s*"[^"]`)
	// direct matches an empty HTTPS_PROXY, as carry Relay writes it for a cluster without
	// a list.
	direct = regexp.MustCompile(`"HTTPS_PROXY"\)?\s*,\s*"value"\s*:\s*(dyn\()?""`)
	// aURL begins the value of a proxy's variable.
	aURL = regexp.MustCompile(`(?i)^\s*https?://`)
)

const remedy = "every selected cluster would get it: render the chart with source.existing=true, and have fairlead-operator deliver bring the URL"

// check refuses an object with settings of a single cluster, or with a secret. No error
// shows a value.
func check(o unstructured.Unstructured) error {
	if o.GetName() == "" {
		return fmt.Errorf("%s: metadata.name is missing", o.GetKind())
	}
	if o.GetKind() == "Secret" {
		if key := proxyIn(o); key != "" {
			return fmt.Errorf("%s: %s has the URL of a proxy, and %s", title(o), key, remedy)
		}
	}
	for _, refused := range []struct {
		what    *regexp.Regexp
		problem string
	}{
		{literal, "has the URL of a proxy (carry Literal), and " + remedy + ", and carry=SecretRef"},
		{withUser, "has a URL with a user, and " + remedy},
		{direct, "sets an empty HTTPS_PROXY, so pods of every selected cluster would go direct: with carry=Relay, set noProxy; or render with carry=SecretRef"},
	} {
		if path := find(o.Object, "", refused.what); path != "" {
			return fmt.Errorf("%s: %s %s", title(o), path, refused.problem)
		}
	}
	return nil
}

// proxyIn returns the field of a Secret that has a proxy's URL, empty without one.
func proxyIn(secret unstructured.Unstructured) string {
	for _, field := range []string{"data", "stringData"} {
		content, _, _ := unstructured.NestedMap(secret.Object, field)
		for _, key := range slices.Sorted(maps.Keys(content)) {
			value, _ := content[key].(string)
			if field == "data" {
				decoded, _ := base64.StdEncoding.DecodeString(value)
				value = string(decoded)
			}
			if aURL.MatchString(value) && strings.Contains(strings.ToLower(key), "proxy") || withUser.MatchString(value) {
				return field + "." + key
			}
		}
	}
	return ""
}

// find returns the path of the first text in an object that matches; empty if none does.
func find(value any, path string, what *regexp.Regexp) string {
	switch v := value.(type) {
	case string:
		if what.MatchString(v) {
			return path
		}
	case []any:
		for i, element := range v {
			if where := find(element, fmt.Sprintf("%s[%d]", path, i), what); where != "" {
				return where
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if where := find(v[key], strings.TrimPrefix(path+"."+key, "."), what); where != "" {
				return where
			}
		}
	}
	return ""
}
