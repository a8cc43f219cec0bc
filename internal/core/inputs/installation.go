package inputs

import (
	"cmp"
	"errors"
	"fmt"
	"maps"

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
	if at := unowned(proxy.Spec.NoProxy); at >= 0 {
		return installation, invalid(object(proxy), fmt.Sprintf("spec.noProxy[%d]", at), needsOwner)
	}
	values, at := valuesOf(proxy.Spec.NoProxy)
	written = append(written, resolve.PositionedAt(values, at, own, ".value")...)
	installation.NoProxy, err = resolve.ParseEntries(resolve.ReasonInvalidProxy, written)
	return installation, err
}

func object(proxy *v1alpha1.CorporateProxy) string { return "CorporateProxy " + proxy.Name }

func invalid(object, field, format string, args ...any) error {
	return resolve.NewProblem(resolve.ReasonInvalidProxy, object, field, format, args...)
}

const bothEmpty = "both proxy URLs are empty: set http, https or both"

func readValues(installation *resolve.Installation, proxy *v1alpha1.CorporateProxy, get DataGetter) ([]resolve.Written, error) {
	const field = "spec.source.valuesRef"
	named := *proxy.Spec.Source.ValuesRef
	ref := Reference{KindSecret, named.Name}
	data, err := mustGet(proxy, field, ref, get)
	if err != nil {
		return nil, err
	}
	if named.Next != nil {
		return readSuccessor(installation, proxy, secretOf{ref, data}, named, get)
	}
	if err := setURLs(installation, ref.String(), "data.", string(data[keyHTTP]), string(data[keyHTTPS])); err != nil {
		return nil, err
	}
	previous := &installation.Previous
	if previous.HTTP, err = parsePrevious(ref.String(), "data."+keyHTTPPrevious, string(data[keyHTTPPrevious]), installation.HTTP); err != nil {
		return nil, err
	}
	previous.HTTPS, err = parsePrevious(ref.String(), "data."+keyHTTPSPrevious, string(data[keyHTTPSPrevious]), installation.HTTPS)
	return secretOf{ref, data}.list(), err
}

// secretOf is a Secret that valuesRef names.
type secretOf struct {
	ref  Reference
	data map[string][]byte
}

func (s secretOf) list() []resolve.Written {
	return resolve.SplitEntries(string(s.data[keyNoProxy]), noproxy.Source{Layer: noproxy.LayerInstallation, Object: s.ref.String(), Field: "data." + keyNoProxy})
}

// readSuccessor reads the Secret that next names, and the credentials of before from the one that it succeeds. A list that it
// lacks is that of before.
func readSuccessor(installation *resolve.Installation, proxy *v1alpha1.CorporateProxy, before secretOf, named v1alpha1.SecretReference, get DataGetter) ([]resolve.Written, error) {
	ref, data, err := getSuccessor(proxy, "spec.source.valuesRef", named, get)
	if err != nil {
		return nil, err
	}
	if err := setURLs(installation, ref.String(), "data.", string(data[keyHTTP]), string(data[keyHTTPS])); err != nil {
		return nil, err
	}
	previous := &installation.Previous
	if previous.HTTP, err = succeeded(before, keyHTTP, ref, installation.HTTP); err != nil {
		return nil, err
	}
	if previous.HTTPS, err = succeeded(before, keyHTTPS, ref, installation.HTTPS); err != nil {
		return nil, err
	}
	if _, found := data[keyNoProxy]; found {
		return secretOf{ref, data}.list(), nil
	}
	return before.list(), nil
}

// succeeded is a URL of before, with its credentials; zero where it had none.
func succeeded(before secretOf, key string, next Reference, current proxyurl.URL) (proxyurl.URL, error) {
	url, err := parseURL(before.ref.String(), "data."+key, string(before.data[key]))
	switch {
	case err != nil || !url.HasCredentials():
		return proxyurl.URL{}, err
	case !url.WithoutCredentials().Equal(current.WithoutCredentials()):
		return proxyurl.URL{}, invalid(before.ref.String(), "data."+key, "is for another proxy than the same key of %s, which succeeds it: both must have the same scheme, host and port", next)
	}
	return url, nil
}

// Succeeded is the data of a Secret for valuesRef that succeeds another, whose list it takes where it has none.
func Succeeded(data, before map[string][]byte) map[string][]byte {
	merged := maps.Clone(data)
	if _, found := merged[keyNoProxy]; !found && before != nil {
		merged[keyNoProxy] = before[keyNoProxy]
	}
	return merged
}

// getSuccessor returns the Secret that next names.
func getSuccessor(proxy *v1alpha1.CorporateProxy, field string, named v1alpha1.SecretReference, get DataGetter, keys ...string) (Reference, map[string][]byte, error) {
	ref := Reference{KindSecret, named.Next.Name}
	if named.Next.Name == named.Name {
		return ref, nil, invalid(object(proxy), field+".next.name", "is the same Secret as name: a successor is another one; remove next")
	}
	data, err := mustGet(proxy, field+".next", ref, get, keys...)
	return ref, data, err
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
// and https below prefix. What is wrong with both, as where they are the same, is said of both.
func setURLs(installation *resolve.Installation, object, prefix, http, https string) (err error) {
	field := prefix + keyHTTP
	if http == https {
		field += ", " + prefix + keyHTTPS
	}
	if installation.HTTP, err = parseURL(object, field, http); err != nil {
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
	const field = "spec.source.url.credentialsRef"
	named := *urls.CredentialsRef
	ref := Reference{KindSecret, named.Name}
	data, err := mustGet(proxy, field, ref, get, keyUsername, keyPassword)
	if err != nil {
		return err
	}
	if named.Next == nil {
		err = setPrevious(installation, ref.String(), data, keyPreviousUsername, keyPreviousPassword)
	} else if err = setPrevious(installation, ref.String(), data, keyUsername, keyPassword); err == nil {
		ref, data, err = getSuccessor(proxy, field, named, get, keyUsername, keyPassword)
	}
	if err != nil {
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
func setPrevious(installation *resolve.Installation, object string, data map[string][]byte, usernameKey, passwordKey string) (err error) {
	username, password := string(data[usernameKey]), string(data[passwordKey])
	if username == "" && password == "" {
		return nil
	}
	if installation.Previous.HTTP, err = installation.HTTP.WithCredentials(username, password); err == nil {
		installation.Previous.HTTPS, err = installation.HTTPS.WithCredentials(username, password)
	}
	if err != nil {
		err = invalid(object, "data."+usernameKey+", data."+passwordKey, "%v", err)
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
	if errors.Is(err, ErrNotGiven) {
		return nil, resolve.NewProblem(resolve.ReasonSourceMissing, object(proxy), field, "%s %q is not in the files that were given", ref.Kind, ref.Name)
	}
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
