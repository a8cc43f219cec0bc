package inputs

import (
	"encoding/json"
	"errors"

	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/internal/core/yamldoc"
	"github.com/fairlead-io/fairlead/noproxy"
)

// Values reads the config repository's patch: YAML with the key proxy, which holds http, https and noProxy. noProxy is
// a string or a list. proxy may also hold previous, with the keys http and https: the earlier credentials. Other keys
// at the top belong to others; an unknown key below proxy is an error. Messages call the patch by the name of the file.
func Values(file string, data []byte) (resolve.Installation, error) {
	installation := resolve.Installation{Name: file, Object: file, Delegation: resolve.Delegation{NoProxy: resolve.GrantNarrow}}
	if yamldoc.Several(data) {
		return installation, invalid(file, "", "has more than one document")
	}
	var top map[string]json.RawMessage
	if err := yaml.Unmarshal(data, &top); err != nil {
		// The parser's own words may quote the line, password included.
		return installation, invalid(file, "", "not valid YAML, or not a map")
	}
	if _, ok := top["proxy"]; !ok {
		return installation, invalid(file, "proxy", "the key is missing: expected proxy: {http, https, noProxy}")
	}
	var proxy map[string]json.RawMessage
	if err := json.Unmarshal(top["proxy"], &proxy); err != nil {
		return installation, invalid(file, "proxy", "is not a map of http, https and noProxy")
	}
	urls, previous := map[string]string{}, map[string]string{}
	var written []noproxy.Element
	var err error
	for _, key := range sortedKeys(proxy) {
		switch key {
		case keyHTTP, keyHTTPS:
			urls[key], err = text(proxy[key])
		case keyPrevious:
			previous, err = previousValues(proxy[key])
		case keyNoProxy:
			written, err = noProxyValue(file, proxy[key])
		default:
			// Not by its name: {http:http://me:secret@host:1}, a blank forgotten, is all key.
			return installation, invalid(file, "proxy", "has an unknown key: expected http, https, noProxy and previous")
		}
		if err != nil {
			return installation, invalid(file, "proxy."+key, "%v", err)
		}
	}
	err = setURLs(&installation, file, "proxy.", func(key string) string { return urls[key] }, func(key string, current proxyurl.URL) (proxyurl.URL, error) {
		return parsePrevious(file, "proxy."+keyPrevious+"."+key, previous[key], current)
	})
	if err != nil {
		return installation, err
	}
	installation.NoProxy, err = resolve.ParseEntries(resolve.ReasonInvalidProxy, written, nil)
	return installation, err
}

// keyPrevious is the key in values that stands for httpPrevious and httpsPrevious.
const keyPrevious = "previous"

func previousValues(raw json.RawMessage) (map[string]string, error) {
	var found map[string]json.RawMessage
	if err := json.Unmarshal(raw, &found); err != nil {
		return nil, errors.New("is not a map of http and https")
	}
	texts := map[string]string{}
	for key, value := range found {
		if key != keyHTTP && key != keyHTTPS {
			return nil, errors.New("has an unknown key: expected http and https")
		}
		var err error
		if texts[key], err = text(value); err != nil {
			return nil, errors.New("has something that is not a string")
		}
	}
	return texts, nil
}

func text(raw json.RawMessage) (text string, err error) {
	if json.Unmarshal(raw, &text) != nil {
		return "", errors.New("is not a string")
	}
	return text, nil
}

// noProxyValue accepts a comma-separated string or a list of strings.
func noProxyValue(file string, raw json.RawMessage) ([]noproxy.Element, error) {
	source := noproxy.Source{Layer: noproxy.LayerInstallation, Object: file, Field: "proxy." + keyNoProxy}
	if list, err := text(raw); err == nil {
		return noproxy.Filled(list, source), nil
	}
	var entries []string
	if json.Unmarshal(raw, &entries) != nil {
		return nil, errors.New("is neither a string nor a list of strings")
	}
	return noproxy.Elements(entries, source), nil
}
