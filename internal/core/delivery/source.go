package delivery

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/core/proxyenv"
)

// SecretName is the Secret of a workload cluster that its relay, replicator and probe read.
const SecretName = "fairlead-source"

// values has the fields of a cluster's Helm values that are read here.
type values struct {
	Cluster struct {
		Proxy struct {
			URLs     `json:",inline"`
			NoProxy  string `json:"noProxy"`
			Previous URLs   `json:"previous"`
		} `json:"proxy"`
		Probes struct {
			Targets     []any `json:"targets"`
			Credentials struct {
				Current  string `json:"current"`
				Previous string `json:"previous"`
			} `json:"credentials"`
			Revision string `json:"revision"`
		} `json:"probes"`
	} `json:"cluster"`
}

// URLs of the proxy.
type URLs struct {
	HTTP  string `json:"http"`
	HTTPS string `json:"https"`
}

// SourceOf returns the Secret fairlead-source of a workload cluster, with the keys that fairlead-policies would write with these
// values. No error shows a value.
func SourceOf(text []byte, namespace string) ([]byte, error) {
	var v values
	if err := yaml.Unmarshal(text, &v); err != nil {
		return nil, errors.New("it does not hold the YAML that the operator writes")
	}
	data := v.data()
	for key, value := range data {
		if strings.ContainsFunc(string(value), func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return nil, errors.New(key + " would have a line end or another control character in it")
		}
	}
	text, err := json.Marshal(data)
	if err != nil {
		return nil, err
	}
	return []byte(sourceHead + padded(strconv.Quote(namespace)) + sourceMiddle + padded(string(text))), nil
}

// data returns the keys of charts/fairlead-policies/templates/source.yaml; e2e/charts compares them.
func (v values) data() map[string][]byte {
	proxy, told := v.Cluster.Proxy, v.Cluster.Probes
	http, https, list := strings.TrimSpace(proxy.HTTP), strings.TrimSpace(proxy.HTTPS), strings.TrimSpace(proxy.NoProxy)
	if http == "" && https == "" {
		list = ""
	}
	data := map[string][]byte{proxyenv.HTTP: []byte(http), proxyenv.HTTPS: []byte(https), proxyenv.NoProxy: []byte(list)}
	optional := map[string]string{
		proxyenv.HTTPPrevious:  strings.TrimSpace(proxy.Previous.HTTP),
		proxyenv.HTTPSPrevious: strings.TrimSpace(proxy.Previous.HTTPS),
		"FINGERPRINT":          told.Credentials.Current,
		"FINGERPRINT_PREVIOUS": told.Credentials.Previous,
	}
	counted := told.Credentials.Previous != "" || len(told.Targets) > 0
	if told.Revision != "" && (told.Credentials.Current != "" || counted && !strings.Contains(http+https, "@")) {
		optional["REVISION"] = told.Revision
	}
	for key, value := range optional {
		if value != "" {
			data[key] = []byte(value)
		}
	}
	return data
}
