package client

import (
	"path/filepath"
	"regexp"
)

// number is a version such as 7.88.1.
var number = regexp.MustCompile(`[0-9]+(\.[0-9]+)+`)

// anything is the first line.
var anything = regexp.MustCompile(`.+`)

// All clients, those that take longest first.
var All = []Client{
	{
		Name: "curl", Program: "curl", Package: "curl",
		once: func(_ Machine, url string) []string {
			return []string{"curl", "--disable", "--globoff", "--silent", "--insecure", "--max-time", "8", "--output", "/dev/null", url}
		},
		version: func(Machine) []string { return []string{"curl", "--version"} }, pattern: number,
	},
	{
		Name: "git", Program: "git", Package: "git",
		once: func(_ Machine, url string) []string {
			return []string{"git", "-c", "http.sslVerify=false", "ls-remote", url}
		},
		env:     []string{"GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_NOSYSTEM=1"},
		version: func(Machine) []string { return []string{"git", "--version"} }, pattern: number,
	},
	{
		Name: "wget", Program: "wget", Package: "wget",
		once: func(_ Machine, url string) []string {
			return []string{"wget", "--no-config", "--quiet", "--no-check-certificate", "--no-hsts", "--tries=1", "--timeout=8", "--output-document=/dev/null", url}
		},
		version: func(Machine) []string { return []string{"wget", "--version"} }, pattern: number,
	},
	{
		Name: "wget2", Program: "wget2", Package: "wget2",
		once: func(_ Machine, url string) []string {
			return []string{"wget2", "--no-config", "--quiet", "--no-check-certificate", "--no-hsts", "--tries=1", "--timeout=8", "--output-document=/dev/null", url}
		},
		version: func(Machine) []string { return []string{"wget2", "--version"} }, pattern: number,
	},
	{
		// Its own resolver does not ask where there is no network but lo.
		Name: "aria2c", Program: "aria2c", Package: "aria2",
		once: func(m Machine, url string) []string {
			return []string{"aria2c", "--no-conf", "--quiet", "--async-dns=false", "--check-certificate=false", "--dry-run", "--max-tries=1", "--timeout=8", "--connect-timeout=8", "--dir=" + m.Dir, url}
		},
		version: func(Machine) []string { return []string{"aria2c", "--version"} }, pattern: number,
	},
	{
		Name: "apt", Program: "apt-get", Package: "apt",
		once: func(m Machine, url string) []string {
			return []string{
				"/usr/lib/apt/apt-helper", "-qq", "-o", "Acquire::https::Verify-Peer=false", "-o", "Acquire::https::Verify-Host=false",
				"-o", "APT::Sandbox::User=", "-o", "Acquire::Retries=0", "-o", "Acquire::http::Timeout=8", "-o", "Acquire::https::Timeout=8",
				"download-file", url, filepath.Join(m.Dir, "apt.out"),
			}
		},
		env:     []string{"APT_CONFIG=/dev/null"},
		version: func(Machine) []string { return []string{"apt-get", "--version"} }, pattern: number,
	},
	{
		Name: "go",
		once: func(m Machine, url string) []string { return []string{m.Self, url} },
		env:  []string{GoMode},
		version: func(m Machine) []string {
			return []string{m.Self, "--version"}
		}, pattern: number,
	},
	{
		Name: "python-urllib", Program: "/usr/bin/python3", Package: "python3",
		driver: func(m Machine) []string { return []string{"/usr/bin/python3", m.Dir + "/python.py", "urllib"} },
	},
	{
		Name: "python-requests", Program: "/usr/bin/python3", Package: "python3-requests", Module: `-c import\ requests`,
		driver: func(m Machine) []string { return []string{"/usr/bin/python3", m.Dir + "/python.py", "requests"} },
	},
	{
		Name: "python-httpx", Program: "/usr/bin/python3", Package: "python3-httpx", Module: `-c import\ httpx`,
		driver: func(m Machine) []string { return []string{"/usr/bin/python3", m.Dir + "/python.py", "httpx"} },
	},
	{
		Name: "python-aiohttp(trust_env)", Program: "/usr/bin/python3", Package: "python3-aiohttp", Module: `-c import\ aiohttp`,
		driver: func(m Machine) []string { return []string{"/usr/bin/python3", m.Dir + "/python.py", "aiohttp"} },
	},
	{
		Name: "ruby-net-http", Program: "ruby", Package: "ruby",
		driver: func(m Machine) []string { return []string{"ruby", m.Dir + "/ruby.rb", "net-http"} },
	},
	{
		Name: "ruby-open-uri", Program: "ruby", Package: "ruby",
		driver: func(m Machine) []string { return []string{"ruby", m.Dir + "/ruby.rb", "open-uri"} },
	},
	{
		Name: "perl-lwp(env_proxy)", Program: "perl", Package: "libwww-perl liblwp-protocol-https-perl", Module: `-MLWP::Protocol::https -e0`,
		driver: func(m Machine) []string { return []string{"perl", m.Dir + "/perl.pl", "lwp"} },
	},
	{
		Name: "perl-http-tiny", Program: "perl", Package: "perl libio-socket-ssl-perl", Module: `-MIO::Socket::SSL -e0`,
		driver: func(m Machine) []string { return []string{"perl", m.Dir + "/perl.pl", "http-tiny"} },
	},
	{
		Name: "php-curl(libcurl)", Program: "php", Package: "php-cli php-curl", Module: `-r curl_version();`,
		once: func(m Machine, url string) []string { return []string{"php", m.Dir + "/php.php", "curl", url} },
		version: func(m Machine) []string { return []string{"php", m.Dir + "/php.php", "curl"} }, pattern: anything,
	},
	{
		Name: "php-guzzle", Program: "php", Package: "php-cli php-curl php-guzzlehttp-guzzle", Module: `-r require'GuzzleHttp/autoload.php';`,
		once: func(m Machine, url string) []string { return []string{"php", m.Dir + "/php.php", "guzzle", url} },
		version: func(m Machine) []string { return []string{"php", m.Dir + "/php.php", "guzzle"} }, pattern: anything,
	},
	{
		Name: "java-HttpURLConnection", Program: "java", Package: "default-jdk-headless", Kind: Java,
		driver: func(m Machine) []string { return []string{"java", m.Dir + "/Driver.java"} },
	},
	{
		Name: "undici-EnvHttpProxyAgent", Program: node,
		driver: func(m Machine) []string { return []string{m.Cache + "/" + node, m.Dir + "/node.cjs", "undici"} },
	},
	{
		Name: "axios", Program: node,
		driver: func(m Machine) []string { return []string{m.Cache + "/" + node, m.Dir + "/node.cjs", "axios"} },
	},
	{
		Name: "proxy-from-env(http.get + proxy-agent)", Program: node, Kind: ListsOnly,
		driver: func(m Machine) []string { return []string{m.Cache + "/" + node, m.Dir + "/node.cjs", "proxy-from-env"} },
	},
	{
		Name: "node-fetch(NODE_USE_ENV_PROXY)", Program: node, env: []string{"NODE_USE_ENV_PROXY=1"},
		once:    func(m Machine, url string) []string { return []string{m.Cache + "/" + node, m.Dir + "/node.cjs", "fetch", url} },
		version: func(m Machine) []string { return []string{m.Cache + "/" + node, m.Dir + "/node.cjs", "fetch", "--version"} }, pattern: number,
	},
	{
		Name: "node-http.get(NODE_USE_ENV_PROXY)", Program: node, env: []string{"NODE_USE_ENV_PROXY=1"},
		once:    func(m Machine, url string) []string { return []string{m.Cache + "/" + node, m.Dir + "/node.cjs", "http.get", url} },
		version: func(m Machine) []string { return []string{m.Cache + "/" + node, m.Dir + "/node.cjs", "http.get", "--version"} }, pattern: number,
	},
}
