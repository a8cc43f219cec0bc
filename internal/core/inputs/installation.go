package inputs

import (
	"cmp"

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

	keyHTTPPrevious     = "httpPrevious"
	keyHTTPSPrevious    = "httpsPrevious"
	keyPreviousUsername = "previousUsername"
	keyPreviousPassword = "previousPassword"
)

// Installation reads a CorporateProxy and the objects it names. A *resolve.Problem
// says what is wrong with either; any other error comes from get.
func Installation(proxy *v1alpha1.CorporateProxy, get DataGetter) (resolve.Installation, error) {
	installation := resolve.Installation{
		Name:   proxy.Name,
		Object: object(proxy),
		Form:   resolve.Form(proxy.Spec.Form),
		Delegation: resolve.Delegation{
			NoProxy: cmp.Or(resolve.Grant(proxy.Spec.Delegation.NoProxy), resolve.GrantNarrow), // the CRD's default, for manifests that never met it
			Direct:  proxy.Spec.Delegation.Direct == "Allowed",
		},
		ConfigMap: proxy.Spec.ClusterValues.ConfigMap,
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
	case (source.ValuesRef == nil) == (source.URL == nil):
		err = invalid(object(proxy), "spec.source", "takes exactly one of valuesRef and url")
	case source.ValuesRef != nil:
		written, err = readValues(&installation, proxy, get)
	default:
		err = readURLs(&installation, proxy, get)
	}
	if err != nil {
		return installation, err
	}
	own := noproxy.Source{Layer: noproxy.LayerInstallation, Object: object(proxy), Field: "spec.noProxy"}
	written = append(written, resolve.Positioned(valuesOf(proxy.Spec.NoProxy), own, ".value")...)
	installation.NoProxy, err = resolve.ParseEntries(resolve.ReasonInvalidProxy, written)
	return installation, err
}

func object(proxy *v1alpha1.CorporateProxy) string { return "CorporateProxy " + proxy.Name }

func invalid(object, field, format string, args ...any) error {
	return resolve.NewProblem(resolve.ReasonInvalidProxy, object, field, format, args...)
}

const bothEmpty = "both proxy URLs are empty: set http, https or both"

func readValues(installation *resolve.Installation, proxy *v1alpha1.CorporateProxy, get DataGetter) ([]resolve.Written, error) {
	ref := Reference{KindSecret, proxy.Spec.Source.ValuesRef.Name}
	data, err := mustGet(proxy, "spec.source.valuesRef", ref, get)
	if err != nil {
		return nil, err
	}
	source := noproxy.Source{Layer: noproxy.LayerInstallation, Object: ref.String(), Field: "data." + keyNoProxy}
	written := resolve.SplitEntries(string(data[keyNoProxy]), source)
	if err := setURLs(installation, ref.String(), "data.", string(data[keyHTTP]), string(data[keyHTTPS])); err != nil {
		return nil, err
	}
	previous := &installation.Previous
	if previous.HTTP, err = parsePrevious(ref.String(), "data."+keyHTTPPrevious, string(data[keyHTTPPrevious]), installation.HTTP); err != nil {
		return nil, err
	}
	previous.HTTPS, err = parsePrevious(ref.String(), "data."+keyHTTPSPrevious, string(data[keyHTTPSPrevious]), installation.HTTPS)
	return written, err
}

// parsePrevious parses the URL with the credentials of before. A relay sends them to the proxy of now, so both must be the
// same proxy.
func parsePrevious(object, field, text string, current proxyurl.URL) (proxyurl.URL, error) {
	url, err := parseURL(object, field, text)
	switch {
	case err != nil || url.IsZero():
		return url, err
	case !url.HasCredentials():
		err = invalid(object, field, "has no user information: it is for the credentials of before, so remove it where there were none")
	case !url.WithoutCredentials().Equal(current.WithoutCredentials()):
		err = invalid(object, field, "is for another proxy than the URL of now: the credentials of before are for the same scheme, host and port; remove it")
	}
	return url, err
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
		return invalid(object, prefix+keyHTTP+", "+prefix+keyHTTPS, bothEmpty)
	}
	return nil
}

func readURLs(installation *resolve.Installation, proxy *v1alpha1.CorporateProxy, get DataGetter) (err error) {
	urls := proxy.Spec.Source.URL
	if installation.HTTP, err = parsePlainURL(proxy, "spec.source.url.http", urls.HTTP); err != nil {
		return err
	}
	if installation.HTTPS, err = parsePlainURL(proxy, "spec.source.url.https", urls.HTTPS); err != nil {
		return err
	}
	if installation.HTTP.IsZero() && installation.HTTPS.IsZero() {
		return invalid(object(proxy), "spec.source.url", bothEmpty)
	}
	if urls.CredentialsRef == nil {
		return nil
	}
	ref := Reference{KindSecret, urls.CredentialsRef.Name}
	data, err := mustGet(proxy, "spec.source.url.credentialsRef", ref, get, keyUsername, keyPassword)
	if err != nil {
		return err
	}
	if err := setPrevious(installation, ref.String(), data); err != nil {
		return err
	}
	for _, url := range []*proxyurl.URL{&installation.HTTP, &installation.HTTPS} {
		*url, err = url.WithCredentials(string(data[keyUsername]), string(data[keyPassword]))
		if err != nil {
			return invalid(ref.String(), "data", "%v", err)
		}
	}
	return nil
}

// setPrevious adds the credentials of before, if there are any, to the URLs, which have none yet.
func setPrevious(installation *resolve.Installation, object string, data map[string][]byte) (err error) {
	username, password := string(data[keyPreviousUsername]), string(data[keyPreviousPassword])
	if username == "" && password == "" {
		return nil
	}
	if installation.Previous.HTTP, err = installation.HTTP.WithCredentials(username, password); err == nil {
		installation.Previous.HTTPS, err = installation.HTTPS.WithCredentials(username, password)
	}
	if err != nil {
		err = invalid(object, "data."+keyPreviousUsername+", data."+keyPreviousPassword, "%v", err)
	}
	return err
}

// parsePlainURL refuses credentials, which the CRD refuses as well; a manifest
// that only the command line has seen has not been through it.
func parsePlainURL(proxy *v1alpha1.CorporateProxy, field, text string) (proxyurl.URL, error) {
	url, err := parseURL(object(proxy), field, text)
	if err == nil && url.HasCredentials() {
		return proxyurl.URL{}, invalid(object(proxy), field, "must not contain user information: put it into the Secret that credentialsRef names")
	}
	return url, err
}

func parseURL(object, field, text string) (proxyurl.URL, error) {
	url, err := proxyurl.Parse(text)
	if err != nil {
		return url, invalid(object, field, "%v", err)
	}
	return url, nil
}

// mustGet returns the data of an object that the CorporateProxy names in field, which has these keys.
func mustGet(proxy *v1alpha1.CorporateProxy, field string, ref Reference, get DataGetter, keys ...string) (map[string][]byte, error) {
	data, err := get(ref)
	if err != nil {
		return nil, err
	}
	if data == nil {
		return nil, resolve.NewProblem(resolve.ReasonSourceMissing, object(proxy), field, "%s %q does not exist in the operator's namespace", ref.Kind, ref.Name)
	}
	for _, key := range keys {
		if _, found := data[key]; !found {
			return nil, resolve.NewProblem(resolve.ReasonSourceMissing, ref.String(), "data."+key, "the key is missing")
		}
	}
	return data, nil
}
