package tunnel

import (
	"cmp"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/agents/password"
	"github.com/fairlead-io/fairlead/internal/core/lint"
)

// hubOfFRPC reads arguments and, where it is given, the configuration: as INI (server_addr, http_proxy, since ever) or
// as TOML, YAML or JSON (serverAddr, transport.proxyURL, since 0.52). What the configuration says of the proxy comes
// before the environment, and there is no argument for it.
func (j *judge) hubOfFRPC() (hub, string) {
	if at, ok := j.line.flag("-c", "--config"); ok {
		return j.hubOfConfig(at)
	}
	j.protocol, _ = j.line.flag("-p", "--protocol")
	host, ok := j.line.flag("-s", "--server_addr", "--server-addr")
	if !ok {
		return hub{}, "a configuration that nobody names in its arguments"
	}
	return splitHub(host, j.line.flagOr("7000", "-P", "--server_port", "--server-port")), ""
}

func (j *judge) hubOfConfig(at string) (hub, string) {
	f, where, ok := j.configuration(at)
	if !ok {
		return hub{}, where
	}
	config, err := readFRPC(j.fill(f.content))
	if err != nil {
		return hub{}, f.source + ", which cannot be read, and whose transport.proxyURL would come first"
	}
	j.protocol = config.Transport.Protocol
	if proxy := config.Transport.Proxy; proxy != "" {
		j.configured = &setting{"transport.proxyURL", "transport.proxyURL in " + f.source, variable{value: proxy, source: f.source}}
		if f.plain && password.InValue(proxy) {
			j.say(Password, lint.Error, f.source+" has the proxy's password", "{{ .Envs.http_proxy }} there, and the variable from a Secret")
		}
	}
	if config.Host == "" {
		return hub{}, f.source + ", which names no server"
	}
	return hub{config.Host, cmp.Or(config.Port.String(), "7000")}, ""
}

var (
	frpTemplate = regexp.MustCompile(`\{\{-?\s*\.Envs\.(\w+)\s*-?\}\}`)
	frpAction   = regexp.MustCompile(`\{\{.*?\}\}`)
	frpNoValue  = regexp.MustCompile(`(?m)^[^#=\n]*=[ \t]*(#.*)?$`)
)

// fill puts variables where the configuration, a Go template, has them. Nothing takes the place of variables that are not
// known and of other actions; a line that has no value for that reason is left out.
func (j *judge) fill(text string) string {
	text = frpTemplate.ReplaceAllStringFunc(text, func(match string) string {
		return j.env.variables[frpTemplate.FindStringSubmatch(match)[1]].value
	})
	return frpNoValue.ReplaceAllString(frpAction.ReplaceAllString(text, ""), "")
}

// frpcConfig has the fields of a configuration that matter, by the names that frpc has since 0.52.
type frpcConfig struct {
	Host      string      `json:"serverAddr"`
	Port      json.Number `json:"serverPort"`
	Transport struct {
		Protocol string `json:"protocol"`
		Proxy    string `json:"proxyURL"`
	} `json:"transport"`
}

// readFRPC reads a configuration in the order of frpc (pkg/config, LoadConfigure): INI if it has a section common, then
// TOML, then YAML or JSON.
func readFRPC(text string) (frpcConfig, error) {
	if common, ok := readINI(text)["common"]; ok {
		config := frpcConfig{Host: common["server_addr"], Port: json.Number(common["server_port"])}
		config.Transport.Protocol, config.Transport.Proxy = common["protocol"], common["http_proxy"]
		return config, nil
	}
	var tree map[string]any
	if err := toml.Unmarshal([]byte(text), &tree); err != nil {
		var config frpcConfig
		err := yaml.Unmarshal([]byte(text), &config)
		return config, err
	}
	return Read[frpcConfig](tree)
}

// readINI returns sections with their keys. frpc has no comments behind a value, and takes quotes around it away.
func readINI(text string) map[string]map[string]string {
	section := ""
	sections := map[string]map[string]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if end := strings.LastIndexByte(line, ']'); strings.HasPrefix(line, "[") && end > 0 {
			section = strings.TrimSpace(line[1:end])
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok || strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";") {
			continue
		}
		if sections[section] == nil {
			sections[section] = map[string]string{}
		}
		sections[section][strings.TrimSpace(key)] = withoutQuotes(strings.TrimSpace(value))
	}
	return sections
}

func withoutQuotes(text string) string {
	if n := len(text); n > 1 && strings.IndexByte("\"'`", text[0]) >= 0 && text[n-1] == text[0] {
		return text[1 : n-1]
	}
	return text
}
