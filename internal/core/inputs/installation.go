package inputs

import (
	"cmp"
	"errors"
	"fmt"
	"maps"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
)

// The keys of the Secrets that a CorporateProxy names.
const (
	keyHTTP     = "http"
	keyHTTPS    = "https"
	keyNoProxy  = "noProxy"
	keyUsername = "username"
	keyPassword = "password"

	previousSuffix      = "Previous" // of the keys of URLs with the previous credentials
	keyPreviousUsername = "previousUsername"
	keyPreviousPassword = "previousPassword"
)

// Installation reads a CorporateProxy, as it is in effect, and the objects it names. A *resolve.Problem
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
	if installation.Probes, err = probes(proxy); err != nil {
		return installation, err
	}
	var written []noproxy.Element
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
	if at := unowned(proxy.Spec.NoProxy); at >= 0 {
		return installation, invalid(object(proxy), fmt.Sprintf("spec.noProxy[%d]", at), needsOwner)
	}
	written = append(written, elements(proxy.Spec.NoProxy, noproxy.Source{Layer: noproxy.LayerInstallation, Object: object(proxy)})...)
	installation.NoProxy, err = resolve.ParseEntries(resolve.ReasonInvalidProxy, written, nil)
	return installation, err
}

func object(proxy *v1alpha1.CorporateProxy) string { return "CorporateProxy " + proxy.Name }

func invalid(object, field, format string, args ...any) error {
	return resolve.NewProblem(resolve.ReasonInvalidProxy, object, field, format, args...)
}

const bothEmpty = "both proxy URLs are empty: set http, https or both"

// stored is an object that a CorporateProxy names.
type stored struct {
	Reference
	data map[string][]byte
}

func (s stored) text(key string) string { return string(s.data[key]) }

func (s stored) list() []noproxy.Element {
	return noproxy.Filled(s.text(keyNoProxy), noproxy.Source{Layer: noproxy.LayerInstallation, Object: s.String(), Field: "data." + keyNoProxy})
}

// readValues reads the Secret that valuesRef names. Where that names a successor, the URLs are the successor's, and the previous
// credentials those of the Secret that it succeeds; so is the list, if the successor has none.
func readValues(installation *resolve.Installation, proxy *v1alpha1.CorporateProxy, get DataGetter) ([]noproxy.Element, error) {
	const field = "spec.source.valuesRef"
	named := *proxy.Spec.Source.ValuesRef
	first, err := mustGet(proxy, field, Reference{KindSecret, named.Name}, get)
	if err != nil {
		return nil, err
	}
	current := first
	previous := func(key string, url proxyurl.URL) (proxyurl.URL, error) {
		key += previousSuffix
		return parsePrevious(first.String(), "data."+key, first.text(key), url)
	}
	if named.Next != nil {
		if current, err = getSuccessor(proxy, field, named, get); err != nil {
			return nil, err
		}
		previous = func(key string, url proxyurl.URL) (proxyurl.URL, error) {
			return succeeded(first, key, current.Reference, url)
		}
	}
	if err := setURLs(installation, current.String(), "data.", current.text, previous); err != nil {
		return nil, err
	}
	if _, ok := current.data[keyNoProxy]; !ok {
		return first.list(), nil
	}
	return current.list(), nil
}

// succeeded returns the previous URL, with its credentials; zero where it had none.
func succeeded(before stored, key string, next Reference, current proxyurl.URL) (proxyurl.URL, error) {
	url, err := parseURL(before.String(), "data."+key, before.text(key))
	switch {
	case err != nil || !url.HasCredentials():
		return proxyurl.URL{}, err
	case !url.WithoutCredentials().Equal(current.WithoutCredentials()):
		return proxyurl.URL{}, invalid(before.String(), "data."+key, "is for another proxy than the same key of %s, which succeeds it: both must have the same scheme, host and port", next)
	}
	return url, nil
}

// Succeeded returns the data of a Secret for valuesRef that succeeds another, whose list it takes where it has none.
func Succeeded(data, before map[string][]byte) map[string][]byte {
	merged := maps.Clone(data)
	if _, ok := merged[keyNoProxy]; !ok && before != nil {
		merged[keyNoProxy] = before[keyNoProxy]
	}
	return merged
}

// getSuccessor returns the Secret that next names.
func getSuccessor(proxy *v1alpha1.CorporateProxy, field string, named v1alpha1.SecretReference, get DataGetter, keys ...string) (stored, error) {
	if named.Next.Name == named.Name {
		return stored{}, invalid(object(proxy), field+".next.name", "is the same Secret as name: a successor is another one; remove next")
	}
	return mustGet(proxy, field+".next", Reference{KindSecret, named.Next.Name}, get, keys...)
}

// parsePrevious parses the URL with the previous credentials. A relay sends them to the current proxy, so both must be the
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
// and https below prefix, and the previous URL of each. What is wrong with both, as where they are the same, is said of both.
func setURLs(
	installation *resolve.Installation, object, prefix string, text func(key string) string, previous func(key string, current proxyurl.URL) (proxyurl.URL, error),
) (err error) {
	field := prefix + keyHTTP
	if text(keyHTTP) == text(keyHTTPS) {
		field += ", " + prefix + keyHTTPS
	}
	if installation.HTTP, err = parseURL(object, field, text(keyHTTP)); err != nil {
		return err
	}
	if installation.HTTPS, err = parseURL(object, prefix+keyHTTPS, text(keyHTTPS)); err != nil {
		return err
	}
	if installation.HTTP.IsZero() && installation.HTTPS.IsZero() {
		return invalid(object, prefix+keyHTTP+", "+prefix+keyHTTPS, bothEmpty)
	}
	if installation.Previous.HTTP, err = previous(keyHTTP, installation.HTTP); err != nil {
		return err
	}
	installation.Previous.HTTPS, err = previous(keyHTTPS, installation.HTTPS)
	return err
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
	const field = "spec.source.url.credentialsRef"
	named := *urls.CredentialsRef
	secret, err := mustGet(proxy, field, Reference{KindSecret, named.Name}, get, keyUsername, keyPassword)
	if err != nil {
		return err
	}
	plain := resolve.Previous{HTTP: installation.HTTP, HTTPS: installation.HTTPS}
	username, password := keyPreviousUsername, keyPreviousPassword
	if named.Next != nil {
		username, password = keyUsername, keyPassword
	}
	if secret.text(username) != "" || secret.text(password) != "" {
		if installation.Previous, err = secret.login(plain, "data."+username+", data."+password, username, password); err != nil {
			return err
		}
	}
	if named.Next != nil {
		if secret, err = getSuccessor(proxy, field, named, get, keyUsername, keyPassword); err != nil {
			return err
		}
	}
	plain, err = secret.login(plain, "data", keyUsername, keyPassword)
	installation.HTTP, installation.HTTPS = plain.HTTP, plain.HTTPS
	return err
}

// login returns the URLs, which have no credentials yet, with those below two keys.
func (s stored) login(urls resolve.Previous, field, username, password string) (resolve.Previous, error) {
	for _, url := range []*proxyurl.URL{&urls.HTTP, &urls.HTTPS} {
		var err error
		if *url, err = url.WithCredentials(s.text(username), s.text(password)); err != nil {
			return urls, invalid(s.String(), field, "%v", err)
		}
	}
	return urls, nil
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

// mustGet returns an object that the CorporateProxy names in field, which has these keys.
func mustGet(proxy *v1alpha1.CorporateProxy, field string, ref Reference, get DataGetter, keys ...string) (stored, error) {
	missing := func(object, field, format string, args ...any) (stored, error) {
		return stored{}, resolve.NewProblem(resolve.ReasonSourceMissing, object, field, format, args...)
	}
	data, err := get(ref)
	switch {
	case errors.Is(err, ErrNotGiven):
		return missing(object(proxy), field, "%s %q is not in the files that were given", ref.Kind, ref.Name)
	case err != nil:
		return stored{}, err
	case data == nil:
		return missing(object(proxy), field, "%s %q does not exist in the operator's namespace", ref.Kind, ref.Name)
	}
	for _, key := range keys {
		if _, ok := data[key]; !ok {
			return missing(ref.String(), "data."+key, "the key is missing")
		}
	}
	return stored{ref, data}, nil
}
