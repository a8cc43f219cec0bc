// Command clients asks for a URL with every HTTP client of a configuration of Prometheus or Alertmanager, read and
// made by their own code, and prints as JSON what came of it: a status, or an error.
//
//	clients prometheus|alertmanager FILE URL
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"

	alertmanager "github.com/prometheus/alertmanager/config"
	"github.com/prometheus/common/config"
	prometheus "github.com/prometheus/prometheus/config"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "clients:", err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 4 {
		return errors.New("usage: clients prometheus|alertmanager FILE URL")
	}
	read := map[string]func(string) (map[string]config.HTTPClientConfig, error){"prometheus": ofPrometheus, "alertmanager": ofAlertmanager}[os.Args[1]]
	if read == nil {
		return fmt.Errorf("unknown kind %q", os.Args[1])
	}
	clients, err := read(os.Args[2])
	if err != nil {
		return err
	}
	answers := map[string]string{}
	for name, settings := range clients {
		answers[name] = ask(name, settings, os.Args[3])
	}
	return json.NewEncoder(os.Stdout).Encode(answers)
}

func ask(name string, settings config.HTTPClientConfig, url string) string {
	client, err := config.NewClientFromConfig(settings, name)
	if err != nil {
		return err.Error()
	}
	answer, err := client.Get(url)
	if err != nil {
		return err.Error()
	}
	defer answer.Body.Close()
	return http.StatusText(answer.StatusCode)
}

// ofPrometheus returns every client of a Prometheus by where it stands in the configuration.
func ofPrometheus(file string) (map[string]config.HTTPClientConfig, error) {
	read, err := prometheus.LoadFile(file, false, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	clients := map[string]config.HTTPClientConfig{}
	for i, c := range read.ScrapeConfigs {
		clients[fmt.Sprintf("scrape_configs[%d]", i)] = c.HTTPClientConfig
	}
	for i, c := range read.RemoteWriteConfigs {
		clients[fmt.Sprintf("remote_write[%d]", i)] = c.HTTPClientConfig
	}
	for i, c := range read.RemoteReadConfigs {
		clients[fmt.Sprintf("remote_read[%d]", i)] = c.HTTPClientConfig
	}
	for i, c := range read.AlertingConfig.AlertmanagerConfigs {
		clients[fmt.Sprintf("alerting.alertmanagers[%d]", i)] = c.HTTPClientConfig
	}
	return clients, nil
}

// ofAlertmanager returns the webhooks of an Alertmanager by the name of their receiver.
func ofAlertmanager(file string) (map[string]config.HTTPClientConfig, error) {
	read, err := alertmanager.LoadFile(file)
	if err != nil {
		return nil, err
	}
	clients := map[string]config.HTTPClientConfig{}
	for _, receiver := range read.Receivers {
		for _, c := range receiver.WebhookConfigs {
			clients[receiver.Name] = *c.HTTPConfig
		}
	}
	return clients, nil
}
