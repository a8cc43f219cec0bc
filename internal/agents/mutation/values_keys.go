package mutation

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/fairlead-io/fairlead/charts"
)

// chartName is what a parent chart has its values below.
const chartName = "fairlead-policies"

// keys tell what of values is the chart's, a platform's or a mistake, as its templates/_keys.tpl does from the same file.
type keys struct {
	NotRead       []string                  `json:"notRead"`
	ProxySettings *regexp.Regexp            `json:"proxySettings"`
	NearMisses    map[string]*regexp.Regexp `json:"nearMisses"`
}

func readKeys() (keys, error) {
	var known keys
	err := json.Unmarshal(charts.PolicyKeys, &known)
	return known, err
}

// withoutForeign leaves out what a platform has for its own charts.
func (k keys) withoutForeign(all map[string]any) (map[string]any, error) {
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if k.NearMisses[key] != nil || slices.Contains(k.NotRead, key) {
			continue
		}
		if err := cmp.Or(k.checkPlace(key), k.check(key)); err != nil {
			return nil, err
		}
		delete(all, key)
	}
	cluster, _ := all["cluster"].(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(cluster)) {
		if key == "proxy" {
			continue
		}
		if err := k.checkPlace("cluster." + key); err != nil {
			return nil, err
		}
		delete(cluster, key)
	}
	return all, nil
}

// check is an error if a key at the root was probably meant to be one of the chart's.
func (k keys) check(key string) error {
	if key == chartName {
		return fmt.Errorf("unknown key %s: these are the values of that chart itself, without its name", key)
	}
	for _, meant := range slices.Sorted(maps.Keys(k.NearMisses)) {
		if k.NearMisses[meant].MatchString(key) {
			return fmt.Errorf("unknown key %s: it is not read; did you mean %s?", key, meant)
		}
	}
	return nil
}

// checkPlace is an error if what is there was probably meant to be in cluster.proxy.
func (k keys) checkPlace(path string) error {
	if k.ProxySettings.MatchString(path) {
		return fmt.Errorf("unknown key %s: the settings are cluster.proxy.http, https and noProxy", path)
	}
	return nil
}
