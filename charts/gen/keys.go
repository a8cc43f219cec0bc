package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// keys are the keys at the root of values that are open: the mistakes there, and the keys that belong to others. The
// chart's templates read keys.json. Patterns match a line, so that a template asks each of them once.
type keys struct {
	// NotRead are known, and nobody's mistake.
	NotRead []string `json:"notRead"`
	// ProxySettings matches keys at the root that probably belong into cluster.proxy, and cluster.noProxy.
	ProxySettings string `json:"proxySettings"`
	// NearMisses has, for each key that the chart reads, what was probably meant to be it. A pattern matches its key, too.
	NearMisses map[string]string `json:"nearMisses"`
}

// proxySettings is http, https, and words that end with proxy, like noProxy, no_proxy, porxy, proxies and clusterProxy. A
// platform has httpEndpoint and proxyProtocol.
const proxySettings = `(?im)^(cluster[-_.]?)?((no|https?)?[-_]?p[ro]*x(y|ys|ie|ies)|https?)$`

// keysOf returns nothing for values that are closed: there, JSON Schema refuses what it does not know.
func keysOf(values field) ([]byte, error) {
	if values.schema["additionalProperties"] != true {
		return nil, nil
	}
	found := keys{NotRead: []string{}, ProxySettings: proxySettings, NearMisses: map[string]string{}}
	for _, f := range values.fields {
		if f.schema["read"] == false {
			found.NotRead = append(found.NotRead, f.key())
			continue
		}
		found.NearMisses[f.key()] = nearMisses(f.key())
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(found)
	return text.Bytes(), err
}

// nearMisses matches the letters of a key, however they are separated, and those with a mistake.
func nearMisses(key string) string {
	separated := strings.Join(strings.Split(key, ""), "[-_]?")
	return "(?im)^(" + strings.Join(append([]string{separated}, misspelled(key)...), "|") + ")$"
}

// long is from how many letters on a mistake is likelier than another word: a platform has mode and nodes, beside our node.
const long = 6

// misspelled is with two neighbours swapped and, of a long key, with one letter too many, missing or wrong.
func misspelled(key string) []string {
	patterns := map[string]bool{}
	for i := range key {
		if i > 0 && key[i-1] != key[i] {
			patterns[key[:i-1]+key[i:i+1]+key[i-1:i]+key[i+1:]] = true
		}
		if len(key) >= long {
			patterns[fmt.Sprintf("%s[a-z]?%s", key[:i], key[i+1:])] = true // missing or wrong
			patterns[fmt.Sprintf("%s[a-z]%s", key[:i], key[i:])] = true
		}
	}
	if len(key) >= long {
		patterns[key+"[a-z]"] = true
	}
	return slices.Sorted(maps.Keys(patterns))
}
