// Command sdk asks for a URL with the HTTP client that a library makes of its
// defaults.
package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	azure "github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	azurehttp "github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	aws "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/containerd/containerd/v2/core/remotes/docker/config"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"google.golang.org/api/option"
	google "google.golang.org/api/transport/http"
)

const patience = 8 * time.Second

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := ask(ctx, os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func ask(ctx context.Context, library, target string) error {
	if library == "otlp-http" {
		return export(ctx, target)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return err
	}
	do, err := clientOf(ctx, library, request.URL)
	if err != nil {
		return err
	}
	response, err := do(request)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// clientOf is the client of a library, which trusts every certificate where that can be said.
func clientOf(ctx context.Context, library string, target *url.URL) (func(*http.Request) (*http.Response, error), error) {
	insecure := &tls.Config{InsecureSkipVerify: true}
	switch library {
	case "aws-sdk-go":
		return aws.NewBuildableClient().WithTransportOptions(func(t *http.Transport) { t.TLSClientConfig = insecure }).Do, nil
	case "azure-sdk-for-go":
		return throughPipeline, nil
	case "google-cloud-go":
		client, _, err := google.NewClient(ctx, option.WithoutAuthentication())
		if err != nil {
			return nil, err
		}
		return client.Do, nil
	case "containerd-resolver":
		hosts, err := config.ConfigureHosts(ctx, config.HostOptions{DefaultTLS: insecure})(target.Host)
		if err != nil {
			return nil, err
		}
		return hosts[0].Client.Do, nil
	}
	return nil, fmt.Errorf("no library %q", library)
}

// throughPipeline asks with Azure's default transport.
func throughPipeline(request *http.Request) (*http.Response, error) {
	asked, err := azurehttp.NewRequest(request.Context(), request.Method, request.URL.String())
	if err != nil {
		return nil, err
	}
	options := azure.ClientOptions{Retry: azure.RetryOptions{MaxRetries: -1}}
	return azurehttp.NewPipeline("vectors", "v0.0.0", azurehttp.PipelineOptions{}, &options).Do(asked)
}

// export sends nothing as a span. Its client refuses to be told of TLS where there is none.
func export(ctx context.Context, target string) error {
	options := []otlptracehttp.Option{otlptracehttp.WithEndpointURL(target), otlptracehttp.WithRetry(otlptracehttp.RetryConfig{})}
	if strings.HasPrefix(target, "https:") {
		options = append(options, otlptracehttp.WithTLSClientConfig(&tls.Config{InsecureSkipVerify: true}))
	}
	client := otlptracehttp.NewClient(options...)
	if err := client.Start(ctx); err != nil {
		return err
	}
	return client.UploadTraces(ctx, nil)
}
