package settings

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/manager/controller/machinery"
)

// torn is a source of two objects, of which one can be changed without the other.
type torn struct {
	*testing.T
	*Installations
	objects client.Client
	proxy   *v1alpha1.CorporateProxy
	now     time.Time
}

func newTorn(t *testing.T) *torn {
	t.Helper()
	scheme, err := machinery.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	credentials := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "credentials"},
		Data:       map[string][]byte{"username": []byte("me"), "password": []byte("old")},
	}
	objects := fake.NewClientBuilder().WithScheme(scheme).WithObjects(credentials).Build()
	proxy := &v1alpha1.CorporateProxy{ObjectMeta: metav1.ObjectMeta{Name: "default", UID: "u", Generation: 1}}
	proxy.Spec.Source.URL = &v1alpha1.ProxyURLs{HTTP: "http://old.example:3128", CredentialsRef: &v1alpha1.SecretReference{Name: "credentials"}}
	return &torn{T: t, Installations: &Installations{Client: objects, Namespace: "system"}, objects: objects, proxy: proxy, now: time.Unix(0, 0)}
}

func (s *torn) setPassword(password string) {
	s.Helper()
	credentials := &corev1.Secret{}
	key := client.ObjectKey{Namespace: "system", Name: "credentials"}
	if err := s.objects.Get(context.Background(), key, credentials); err != nil {
		s.Fatal(err)
	}
	credentials.Data["password"] = []byte(password)
	if err := s.objects.Update(context.Background(), credentials); err != nil {
		s.Fatal(err)
	}
}

func (s *torn) setHost(host string) {
	s.proxy.Generation++
	s.proxy.Spec.Source.URL.HTTP = "http://" + host + ":3128"
}

// after returns the URL that is in force after a while, as it would be written.
func (s *torn) after(d time.Duration) string {
	s.Helper()
	s.now = s.now.Add(d)
	read, err := s.Get(context.Background(), s.proxy, s.now)
	var unsettled *UnsettledError
	if errors.As(err, &unsettled) {
		return "unsettled"
	}
	if err != nil {
		s.Fatal(err)
	}
	return read.Installation.HTTP.Reveal()
}

func (s *torn) want(what, got, want string) {
	s.Helper()
	if got != want {
		s.Errorf("%s: %s, want %s", what, got, want)
	}
}

const oldSource, newSource = "http://me:old@old.example:3128", "http://me:new@new.example:3128"

func TestAHostAndItsPasswordAreTakenTogether(t *testing.T) {
	s := newTorn(t)
	s.want("at the start of the process", s.after(0), "unsettled")
	s.want("settled", s.after(quietTime), oldSource)
	s.setHost("new.example")
	s.want("the host alone", s.after(time.Second), oldSource)
	if wait := s.Settles(s.proxy, s.now); wait != quietTime {
		t.Errorf("it is read again in %s", wait)
	}
	s.setPassword("new")
	s.want("both, a second ago", s.after(quietTime-time.Second), oldSource)
	s.want("both, for long enough", s.after(quietTime), newSource)
	if wait := s.Settles(s.proxy, s.now); wait != 0 || s.Parses != 2 {
		t.Errorf("it settles in %s, after %d parses", wait, s.Parses)
	}
}

func TestWhatElseChangesPutsNothingOff(t *testing.T) {
	s := newTorn(t)
	s.after(0)
	s.want("settled", s.after(quietTime), oldSource)
	s.setHost("new.example")
	for range 4 { // somebody fights about another field
		s.proxy.Generation++
		s.want("not yet", s.after(time.Second), oldSource)
	}
	s.proxy.Generation++
	s.want("all the same", s.after(2*time.Second), "http://me:old@new.example:3128")
}

func TestASourceOfOneObjectIsReadAtOnce(t *testing.T) {
	s := newTorn(t)
	s.proxy.Spec.Source.URL.CredentialsRef = nil
	s.want("at the start", s.after(0), "http://old.example:3128")
	s.setHost("new.example")
	s.want("the next moment", s.after(0), "http://new.example:3128")
}
