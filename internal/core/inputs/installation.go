package inputs

import (
	"fmt"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/operator/noproxy"
)

// The keys of the Secrets that a CorporateProxy names.
const (
	keyHTTP     = "http"
	keyHTTPS    = "https"
	keyNoProxy  = "noProxy"
	keyUsername = "username"
	keyPassword = "password"
)

// Installation reads a CorporateProxy and the objects it names. A *resolve.Problem
// says what is wrong with either; any other error comes from get.
func Installation(proxy *v1alpha1.CorporateProxy, get DataGetter) (resolve.Installation, error) {
	installation := resolve.Installation{
		Name:   proxy.Name,
		Object: object(proxy),
		Form:   resolve.Form(proxy.Spec.Form),
		Delegation: resolve.Delegation{
			NoProxy: resolve.Grant(proxy.Spec.Delegation.NoProxy),
			Direct:  proxy.Spec.Delegation.Direct == "Allowed",
		},
		ConfigMap: proxy.Spec.ClusterValues.ConfigMap,
	}
	if installation.Delegation.NoProxy == "" {
		installation.Delegation.NoProxy = resolve.GrantNarrow // the CRD's default, for manifests that never met it
	}
	if _, _, err := selectors(proxy); err != nil {
		return installation, err
	}
	var err error
	if installation.Node, err = Node(proxy.Spec.Node, object(proxy), "spec.node."); err != nil {
		return installation, err
	}
	if err = readTrustedCA(&installation.Node, proxy, get); err != nil {
		return installation, err
	}
	var written []resolve.Written
	switch source := proxy.Spec.Source; {
	case source.ValuesRef != nil && source.URL != nil:
		return installation, invalid(proxy, "spec.source", "takes exactly one of valuesRef and url")
	case source.ValuesRef != nil:
		written, err = readValues(&installation, proxy, get)
	case source.URL != nil:
		err = readURLs(&installation, proxy, get)
	default:
		return installation, invalid(proxy, "spec.source", "takes exactly one of valuesRef and url")
	}
	if err != nil {
		return installation, err
	}
	for i, entry := range proxy.Spec.NoProxy {
		written = append(written, resolve.Written{Value: entry.Value, Source: noproxy.Source{
			Layer: noproxy.LayerInstallation, Object: object(proxy), Field: fmt.Sprintf("spec.noProxy[%d].value", i),
		}})
	}
	installation.NoProxy, err = resolve.ParseEntries(resolve.ReasonInvalidProxy, written)
	return installation, err
}

func object(proxy *v1alpha1.CorporateProxy) string { return "CorporateProxy " + proxy.Name }

func invalid(proxy *v1alpha1.CorporateProxy, field, detail string) error {
	return &resolve.Problem{Reason: resolve.ReasonInvalidProxy, Object: object(proxy), Field: field, Detail: detail}
}

// readValues reads the Secret that valuesRef names.
func readValues(installation *resolve.Installation, proxy *v1alpha1.CorporateProxy, get DataGetter) ([]resolve.Written, error) {
	ref := Reference{KindSecret, proxy.Spec.Source.ValuesRef.Name}
	data, err := mustGet(proxy, "spec.source.valuesRef", ref, get)
	if err != nil {
		return nil, err
	}
	object := ref.String()
	source := noproxy.Source{Layer: noproxy.LayerInstallation, Object: object, Field: "data." + keyNoProxy}
	return resolve.SplitEntries(string(data[keyNoProxy]), source),
		setURLs(installation, object, "data.", string(data[keyHTTP]), string(data[keyHTTPS]))
}

// setURLs parses the two URLs, which may hold credentials, of the fields http
// and https below prefix.
func setURLs(installation *resolve.Installation, object, prefix, http, https string) (err error) {
	if installation.HTTP, err = parseURL(object, prefix+keyHTTP, http); err != nil {
		return err
	}
	if installation.HTTPS, err = parseURL(object, prefix+keyHTTPS, https); err != nil {
		return err
	}
	if installation.HTTP.IsZero() && installation.HTTPS.IsZero() {
		return &resolve.Problem{
			Reason: resolve.ReasonInvalidProxy, Object: object, Field: prefix + keyHTTP + ", " + prefix + keyHTTPS,
			Detail: "both proxy URLs are empty: set http, https or both",
		}
	}
	return nil
}

// readURLs reads the URLs of the CorporateProxy and adds the credentials.
func readURLs(installation *resolve.Installation, proxy *v1alpha1.CorporateProxy, get DataGetter) (err error) {
	urls := proxy.Spec.Source.URL
	if installation.HTTP, err = parsePlainURL(proxy, "spec.source.url.http", urls.HTTP); err != nil {
		return err
	}
	if installation.HTTPS, err = parsePlainURL(proxy, "spec.source.url.https", urls.HTTPS); err != nil {
		return err
	}
	if installation.HTTP.IsZero() && installation.HTTPS.IsZero() {
		return invalid(proxy, "spec.source.url", "both proxy URLs are empty: set http, https or both")
	}
	if urls.CredentialsRef == nil {
		return nil
	}
	ref := Reference{KindSecret, urls.CredentialsRef.Name}
	data, err := mustGet(proxy, "spec.source.url.credentialsRef", ref, get)
	if err != nil {
		return err
	}
	for _, key := range []string{keyUsername, keyPassword} {
		if _, found := data[key]; !found {
			return &resolve.Problem{
				Reason: resolve.ReasonSourceMissing, Object: ref.String(), Field: "data." + key,
				Detail: "the key is missing",
			}
		}
	}
	for _, url := range []*proxyurl.URL{&installation.HTTP, &installation.HTTPS} {
		*url, err = url.WithCredentials(string(data[keyUsername]), string(data[keyPassword]))
		if err != nil {
			return &resolve.Problem{Reason: resolve.ReasonInvalidProxy, Object: ref.String(), Field: "data", Detail: err.Error()}
		}
	}
	return nil
}

// parsePlainURL refuses credentials, which the CRD refuses as well; a manifest
// that only the command line has seen has not been through it.
func parsePlainURL(proxy *v1alpha1.CorporateProxy, field, text string) (proxyurl.URL, error) {
	url, err := parseURL(object(proxy), field, text)
	if err == nil && url.HasCredentials() {
		return proxyurl.URL{}, invalid(proxy, field, "must not contain user information: put it into the Secret that credentialsRef names")
	}
	return url, err
}

func parseURL(object, field, text string) (proxyurl.URL, error) {
	url, err := proxyurl.Parse(text)
	if err != nil {
		return url, &resolve.Problem{Reason: resolve.ReasonInvalidProxy, Object: object, Field: field, Detail: err.Error()}
	}
	return url, nil
}

// mustGet returns the data of an object that the CorporateProxy names in field.
func mustGet(proxy *v1alpha1.CorporateProxy, field string, ref Reference, get DataGetter) (map[string][]byte, error) {
	data, err := get(ref)
	if err != nil {
		return nil, err
	}
	if data == nil {
		return nil, &resolve.Problem{
			Reason: resolve.ReasonSourceMissing, Object: object(proxy), Field: field,
			Detail: fmt.Sprintf("%s %q does not exist in the operator's namespace", ref.Kind, ref.Name),
		}
	}
	return data, nil
}
