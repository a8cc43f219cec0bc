package proxysecret

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAnErrorAboutDataNamesKeysAndNoValue(t *testing.T) {
	const password = "hunter2"
	secret := &corev1.Secret{Data: map[string][]byte{}}
	for _, key := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "NO_PROXY"} {
		secret.Data[key] = []byte("http://user:" + password + "@p:1")
	}
	_, err := Data(secret)
	if err == nil || !strings.Contains(err.Error(), "no_proxy") || strings.Contains(err.Error(), password) {
		t.Errorf("a missing key: %v", err)
	}
	secret.Data["no_proxy"] = nil
	_, err = Data(secret)
	if err == nil || !strings.Contains(err.Error(), "no_proxy is empty") || strings.Contains(err.Error(), password) {
		t.Errorf("an empty list: %v", err)
	}
}

func TestDataChangedWhenWhoeverOwnsItLastWrote(t *testing.T) {
	at := func(hour int) metav1.Time { return metav1.NewTime(time.Date(2026, 3, 1, hour, 0, 0, 0, time.UTC)) }
	entry := func(hour int, fields string) metav1.ManagedFieldsEntry {
		when := at(hour)
		return metav1.ManagedFieldsEntry{Time: &when, FieldsV1: metav1.NewFieldsV1(fields)}
	}
	for name, row := range map[string]struct {
		entries []metav1.ManagedFieldsEntry
		want    int
	}{
		"nobody noted":              {nil, 1},
		"one owner":                 {[]metav1.ManagedFieldsEntry{entry(3, `{"f:data":{"f:HTTP_PROXY":{}}}`)}, 3},
		"the newest of two":         {[]metav1.ManagedFieldsEntry{entry(5, `{"f:data":{"f:a":{}}}`), entry(4, `{"f:data":{"f:b":{}}}`)}, 5},
		"somebody with labels only": {[]metav1.ManagedFieldsEntry{entry(3, `{"f:data":{}}`), entry(9, `{"f:metadata":{"f:labels":{"f:data":{}}}}`)}, 3},
		"no time, no fields": {[]metav1.ManagedFieldsEntry{
			{FieldsV1: metav1.NewFieldsV1(`{"f:data":{}}`)}, {Time: entry(9, "").Time}, entry(8, "not JSON"),
		}, 1},
	} {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: at(1), ManagedFields: row.entries}}
		if got := DataChangedAt(secret); !got.Equal(at(row.want).Time) {
			t.Errorf("%s: %s, not %d o'clock", name, got, row.want)
		}
	}
}
