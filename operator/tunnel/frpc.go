package tunnel

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/operator/lint"
)

// hubOfFRPC reads arguments and, where it is given, the configuration: as INI (server_addr, http_proxy, since ever) or
// as TOML, YAML or JSON (serverAddr, transport.proxyURL, since 0.52). What the configuration says of the proxy comes
// before the environment, and there is no argument for it.
func (j *judge) hubOfFRPC() (hub, string) {
	at, found := j.line.flag("-c", "--config")
	if found {
		return j.hubOfConfig(at)
	}
	j.protocol, _ = j.line.flag("-p", "--protocol")
	port, found := j.line.flag("-P", "--server_port", "--server-port")
	if !found {
		port = "7000"
	}
	host, found := j.line.flag("-s", "--server_addr", "--server-addr")
	if !found {
		return hub{}, "a configuration that nobody names in its arguments"
	}
	return splitHub(host, port), ""
}

func (j *judge) hubOfConfig(at string) (hub, string) {
	f, found := j.in.Pod.find(j.container, at, j.in.Objects)
	if !found {
		return hub{}, strings.TrimSuffix(at+", of "+f.source, ", of ")
	}
	config := readFRPC(j.fill(f.content))
	j.protocol = config["protocol"]
	if proxy := config["proxy"]; proxy != "" {
		j.configured = &setting{value: variable{value: proxy, plain: f.plain, source: f.source}, name: "transport.proxyURL", where: "transport.proxyURL in " + f.source}
		if f.plain && showsPassword(proxy) {
			j.say(Password, lint.Error, f.source+" has the proxy's password", "{{ .Envs.http_proxy }} there, and the variable from a Secret")
		}
	}
	if config["host"] == "" {
		return hub{}, f.source + ", which names no server"
	}
	port := config["port"]
	if port == "" {
		port = "7000"
	}
	return hub{config["host"], port}, ""
}

var frpTemplate = regexp.MustCompile(`\{\{-?\s*\.Envs\.(\w+)\s*-?\}\}`)

// fill puts variables where the configuration, a Go template, has them.
func (j *judge) fill(text string) string {
	return frpTemplate.ReplaceAllStringFunc(text, func(match string) string {
		return j.env.value(frpTemplate.FindStringSubmatch(match)[1])
	})
}

// The names of what matters, in either form.
var frpcKeys = map[string]string{
	"serverAddr": "host", "common.server_addr": "host",
	"serverPort": "port", "common.server_port": "port",
	"transport.protocol": "protocol", "common.protocol": "protocol",
	"transport.proxyURL": "proxy", "common.http_proxy": "proxy",
}

// readFRPC finds what matters in a configuration. TOML and INI are read line by line, tables and dotted keys: of TOML's
// values all but those in more than one line, and a template that is left in the text does no harm.
func readFRPC(text string) map[string]string {
	found := map[string]string{}
	var tree map[string]any
	if err := yaml.Unmarshal([]byte(text), &tree); err == nil && tree["serverAddr"] != nil {
		for key, name := range frpcKeys {
			if value, ok := at(tree, strings.Split(key, ".")); ok {
				found[name] = value
			}
		}
		return found
	}
	section := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			section = strings.Trim(strings.TrimSpace(line), "[]") + "."
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok || strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";") {
			continue
		}
		if name, known := frpcKeys[section+strings.TrimSpace(key)]; known {
			found[name] = plainValue(value)
		}
	}
	return found
}

// plainValue takes quotes and a comment behind them away. INI has no quotes, and no comments in a line.
func plainValue(text string) string {
	text = strings.TrimSpace(text)
	if text == "" || text[0] != '"' && text[0] != '\'' {
		number, _, _ := strings.Cut(text, " #")
		return strings.TrimSpace(number)
	}
	end := strings.IndexByte(text[1:], text[0])
	if end < 0 {
		return ""
	}
	quoted := text[:end+2]
	if value, err := strconv.Unquote(quoted); err == nil && text[0] == '"' {
		return value
	}
	return strings.Trim(quoted, `"'`)
}

func at(tree map[string]any, path []string) (string, bool) {
	value, ok := tree[path[0]]
	if below, is := value.(map[string]any); is && len(path) > 1 {
		return at(below, path[1:])
	}
	if !ok || len(path) > 1 {
		return "", false
	}
	if text, is := value.(string); is {
		return text, true
	}
	number, err := json.Marshal(value)
	return string(number), err == nil
}
