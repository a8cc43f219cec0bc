package dialect

import "slices"

// clients is the table of everything that is known, by family.
var clients = slices.Concat(
	goFamily,
	curlFamily,
	gitFamily,
	phpFamily,
	wgetFamily,
	wget2Family,
	aria2Family,
	aptFamily,
	pythonFamily,
	rubyFamily,
	perlFamily,
	nodeFamily,
	undiciFamily,
	axiosFamily,
	proxyFromEnvFamily,
	rustFamily,
	javaFamily,
	dotnetFamily,
	grpcFamily,
)

// Clients returns all known clients, in a slice of the caller's own.
func Clients() []*Client { return slices.Clone(clients) }
