package corporateproxy

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/cabundle"
	"github.com/fairlead-io/fairlead/internal/manager/controller/settings"
)

const day = 24 * 60 * 60

// lasting returns a certificate that begins and ends so many days from now.
func lasting(name string, now time.Time, begin, end int) cabundle.Certificate {
	at := func(days int) cabundle.Instant {
		return cabundle.Instant{Unix: now.Unix() + int64(days)*day, Text: fmt.Sprintf("day %d", days)}
	}
	return cabundle.Certificate{Subject: "CN=" + name, NotBefore: at(begin), NotAfter: at(end)}
}

func TestTheWorstCertificateGivesTheConditionItsReason(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	good, soon, expired, future := lasting("good", now, -9, 400), lasting("soon", now, -9, 20), lasting("old", now, -9, -3), lasting("next", now, 2, 500)
	for name, test := range map[string]struct {
		certificates []cabundle.Certificate
		status       metav1.ConditionStatus
		reason       string
		message      string
		wait         time.Duration
	}{
		"all valid":     {[]cabundle.Certificate{good, good}, "True", "Valid", "2 valid, the first expires on day 400", settings.LongestLook},
		"one soon":      {[]cabundle.Certificate{good, soon}, "True", "ExpiresSoon", "CN=soon expires on day 20", settings.LongestLook},
		"one expired":   {[]cabundle.Certificate{good, expired}, "False", "Expired", "CN=old expired on day -3", settings.LongestLook},
		"one to come":   {[]cabundle.Certificate{future, good}, "False", "NotYetValid", "CN=next is not valid before day 2", settings.LongestLook},
		"one of each":   {[]cabundle.Certificate{future, good, soon, expired}, "False", "Expired", "CN=old expired on day -3; CN=next is not valid before day 2; CN=soon expires on day 20", settings.LongestLook},
		"expired alone": {[]cabundle.Certificate{expired}, "False", "Expired", "CN=old expired on day -3", 0},
		"unreadable":    {nil, "Unknown", "Unreadable", "not read: see Ready", 0},
	} {
		t.Run(name, func(t *testing.T) {
			got := trustedCA(test.certificates, now.Unix())
			if got.Type != "TrustedCA" || got.Status != test.status || got.Reason != test.reason || got.Message != test.message {
				t.Errorf("%+v", got)
			}
			if wait := untilChange(test.certificates, now); wait != test.wait {
				t.Errorf("the next look is in %s, not %s", wait, test.wait)
			}
		})
	}
	many := make([]cabundle.Certificate, 500)
	for i := range many {
		many[i] = expired
	}
	if got := trustedCA(many, now.Unix()).Message; len(got) > 1100 || !strings.HasSuffix(got, "…") {
		t.Errorf("%d bytes", len(got))
	}
}

// From any time on, the next look finds another condition, or is a day later.
func TestTheOperatorLooksAgainWhenTheConditionChanges(t *testing.T) {
	start := time.Unix(1_800_000_000, 0)
	certificates := []cabundle.Certificate{lasting("a", start, 2, 40), lasting("b", start, -9, 35)}
	var reasons []string
	for now := start; ; {
		reason := trustedCA(certificates, now.Unix()).Reason
		if len(reasons) == 0 || reasons[len(reasons)-1] != reason {
			reasons = append(reasons, reason)
		}
		wait := untilChange(certificates, now)
		if wait == 0 {
			break
		}
		for at := now; at.Before(now.Add(wait)); at = at.Add(time.Minute) {
			if got := trustedCA(certificates, at.Unix()).Reason; got != reason {
				t.Fatalf("it is %s at %s, and nobody looks before %s", got, at, now.Add(wait))
			}
		}
		now = now.Add(wait)
	}
	if got := strings.Join(reasons, " "); got != "NotYetValid Valid ExpiresSoon Expired" {
		t.Error(got)
	}
}

func TestTheStatusKeepsTheExpiryOfWhatMachinesStillGet(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	proxy := &v1alpha1.CorporateProxy{ObjectMeta: metav1.ObjectMeta{Generation: 7}, Spec: v1alpha1.CorporateProxySpec{TrustedCARef: &v1alpha1.CertificateReference{Name: "ca"}}}
	var status v1alpha1.CorporateProxyStatus
	look := func() (expiry, reason string) {
		if status.TrustedCAExpiry != nil {
			expiry = fmt.Sprint((status.TrustedCAExpiry.Unix() - now.Unix()) / day)
		}
		if c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionTrustedCA); c != nil {
			reason = fmt.Sprintf("%s %d", c.Reason, c.ObservedGeneration)
		}
		return expiry, reason
	}
	for _, step := range []struct {
		what           string
		ref            bool
		certificates   []cabundle.Certificate
		expiry, reason string
	}{
		{"not readable yet", true, nil, "", "Unreadable 7"},
		{"two", true, []cabundle.Certificate{lasting("a", now, -1, 900), lasting("b", now, -1, 800)}, "800", "Valid 7"},
		{"not readable any more", true, nil, "800", "Unreadable 7"},
		{"nobody asks for one", false, nil, "", ""},
	} {
		if !step.ref {
			proxy.Spec.TrustedCARef = nil
		}
		trustedCAStatus(&status, proxy, step.certificates, now)
		if expiry, reason := look(); expiry != step.expiry || reason != step.reason {
			t.Errorf("%s: %q, %q", step.what, expiry, reason)
		}
	}
}
