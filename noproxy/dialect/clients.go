package dialect

import "slices"

// clients is the table of everything that is known, by family.
var clients = slices.Concat(
	goFamily,
	xnetFamily,
	clientGoFamily,
	grpcGoFamily,
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

// Clients returns all known clients. Each caller gets a copy, and may change it.
func Clients() []*Client {
	own := make([]*Client, len(clients))
	for i, client := range clients {
		own[i] = client.clone()
	}
	return own
}
