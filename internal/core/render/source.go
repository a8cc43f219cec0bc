package render

import "github.com/fairlead-io/fairlead/internal/core/proxyurl"

// SourceData returns the data of a Secret that source.valuesRef of a CorporateProxy names.
func SourceData(http, https proxyurl.URL) map[string]string {
	data := map[string]string{}
	for key, url := range map[string]proxyurl.URL{"http": http, "https": https} {
		if !url.IsZero() {
			data[key] = url.Reveal()
		}
	}
	return data
}
