package dialect

import "slices"

// measured are the versions that were run and asked, by client: vector/table
// has measured rows of them. The answers for every other version come from
// reading its source.
var measured = map[string][]string{
	"apt":                 {"2.6.1", "3.0.3"},
	"aria2c":              {"1.36.0"},
	"axios":               {"1.21.1"},
	"client-go":           {"0.36.3"},
	"client-go-spdy":      {"0.36.3"},
	"client-go-websocket": {"0.36.3"},
	"curl":                {"7.74.0", "7.88.1", "8.14.1"},
	"git":                 {"2.39.5", "2.47.3"},
	"go":                  {"1.26.8"},
	"grpc-go":             {"1.62.2", "1.63.2", "1.70.0", "1.71.0", "1.83.2"},
	"java":                {"17.0.15"},
	"node-fetch":          {"24.21.0"},
	"node-http":           {"24.21.0"},
	"perl-http-tiny":      {"0.080"},
	"perl-lwp":            {"6.68", "6.78"},
	"php-curl":            {"8.2.35 libcurl 7.88.1"},
	"php-guzzle":          {"7.4.5 (php 8.2.35)"},
	"proxy-from-env":      {"2.1.0"},
	"python-aiohttp":      {"3.11.16", "3.8.4"},
	"python-httpx":        {"0.23.3", "0.28.1"},
	"python-kubernetes":   {"22.6.0", "34.1.0", "36.0.3"},
	"python-requests":     {"2.28.1", "2.32.3", "2.34.2"},
	"python-urllib":       {"2.7.18", "3.11.2", "3.13.0", "3.6.15"},
	"ruby-net-http":       {"2.7.4p191", "3.1.2p20", "3.3.8"},
	"ruby-open-uri":       {"3.1.2p20"},
	"x-net-httpproxy":     {"0.57.0", "0.58.0", "0.62.0"},
	"reqwest":             {"hyper-util@4684c71 (2026-08-03) matcher.rs"},
	"undici":              {"7.30.2"},
	"wget":                {"1.21.3", "1.25.0"},
	"wget2":               {"1.99.1"},
	"wget2-libproxy":      {"2.2.0"},
}

// Measured returns the versions that behave so and were measured. None: the
// behaviour was only read from the client's source.
func (c Choice) Measured() []string {
	return slices.DeleteFunc(slices.Clone(measured[c.Client.Name]), func(version string) bool {
		return c.Client.At(version).Since != c.Since
	})
}
