package judges_test

import (
	"testing"

	"github.com/fairlead-io/fairlead/e2e/samples"
)

// sample is one of the generated ones, and who carries it.
type sample struct {
	samples.Sample
	plain bool // user data carries its EnvironmentFile without base64
	login bool // /etc/environment carries it
	pods  bool // manifests of static pods carry it
}

func allSamples(t *testing.T) []sample {
	t.Helper()
	var all []sample
	for _, s := range samples.All(t) {
		all = append(all, sample{Sample: s})
	}
	return all
}

// want is the environment that is meant.
func (s sample) want() map[string]string {
	proxy := s.Effective.HTTP.Reveal()
	return map[string]string{
		"HTTP_PROXY": proxy, "http_proxy": proxy, "HTTPS_PROXY": proxy, "https_proxy": proxy,
		"NO_PROXY": s.List, "no_proxy": s.List,
	}
}
