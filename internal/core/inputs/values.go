package inputs

import (
	"encoding/json"
	"errors"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/internal/core/yamldoc"
	"github.com/fairlead-io/fairlead/operator/noproxy"
)

// Values reads the config repository's patch: YAML with the key proxy, which
// holds http, https and noProxy, the latter a string or a list, and may hold previous: {http, https}, with the credentials of
// before. Other keys at
// the top are somebody else's values; an unknown key below proxy is an error.
// The name of the file is what messages call it.
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
	if _, found := top["proxy"]; !found {
		return installation, invalid(file, "proxy", "the key is missing: expected proxy: {http, https, noProxy}")
	}
	var proxy map[string]json.RawMessage
	if err := json.Unmarshal(top["proxy"], &proxy); err != nil {
		return installation, invalid(file, "proxy", "is not a map of http, https and noProxy")
	}
	var urls, previous [2]string
	var written []resolve.Written
	var err error
	for _, key := range sortedKeys(proxy) {
		switch key {
		case keyHTTP:
			err = text(proxy[key], &urls[0])
		case keyHTTPS:
			err = text(proxy[key], &urls[1])
		case keyPrevious:
			err = previousValues(proxy[key], &previous)
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
	if err := setURLs(&installation, file, "proxy.", urls[0], urls[1]); err != nil {
		return installation, err
	}
	if installation.Previous.HTTP, err = parsePrevious(file, "proxy.previous.http", previous[0], installation.HTTP); err != nil {
		return installation, err
	}
	if installation.Previous.HTTPS, err = parsePrevious(file, "proxy.previous.https", previous[1], installation.HTTPS); err != nil {
		return installation, err
	}
	installation.NoProxy, err = resolve.ParseEntries(resolve.ReasonInvalidProxy, written)
	return installation, err
}

// keyPrevious is what values have in place of httpPrevious and httpsPrevious.
const keyPrevious = "previous"

func previousValues(raw json.RawMessage, into *[2]string) error {
	var found map[string]json.RawMessage
	if err := json.Unmarshal(raw, &found); err != nil {
		return errors.New("is not a map of http and https")
	}
	for key, value := range found {
		at := slices.Index([]string{keyHTTP, keyHTTPS}, key)
		if at < 0 {
			return errors.New("has an unknown key: expected http and https")
		}
		if err := text(value, &into[at]); err != nil {
			return errors.New("has something that is not a string")
		}
	}
	return nil
}

func text(raw json.RawMessage, into *string) error {
	if json.Unmarshal(raw, into) != nil {
		return errors.New("is not a string")
	}
	return nil
}

// noProxyValue accepts a comma-separated string or a list of strings.
func noProxyValue(file string, raw json.RawMessage) ([]resolve.Written, error) {
	source := noproxy.Source{Layer: noproxy.LayerInstallation, Object: file, Field: "proxy." + keyNoProxy}
	var list string
	if text(raw, &list) == nil {
		return resolve.SplitEntries(list, source), nil
	}
	var entries []string
	if json.Unmarshal(raw, &entries) != nil {
		return nil, errors.New("is neither a string nor a list of strings")
	}
	return resolve.Positioned(entries, source, ""), nil
}
