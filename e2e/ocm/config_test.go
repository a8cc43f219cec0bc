package ocm_test

import "testing"

// proxyConfig stub
func proxyConfig(t *testing.T, flags ...string) any {
	t.Helper()
	proxy := "http://"
	if len(flags) > 0 {
		proxy += userinfo + "@"
	}
	proxy += proxyAddress
	return map[string]any{"proxyConfig": map[string]any{"HTTP_PROXY": proxy, "HTTPS_PROXY": proxy, "NO_PROXY": "100.64.0.0/13,.svc"}}
}
