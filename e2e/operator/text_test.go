package operator_test

import (
	"strconv"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func contains(text, part string) bool { return strings.Contains(text, part) }

// metric returns the value of one series of a metrics page, or 0.
func metric(page, series string) float64 {
	for line := range strings.SplitSeq(page, "\n") {
		if rest, found := strings.CutPrefix(line, series+" "); found {
			value, _ := strconv.ParseFloat(rest, 64)
			return value
		}
	}
	return 0
}

func admissionBinding() *admissionv1.ValidatingAdmissionPolicyBinding {
	return &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: "fairlead-operator-secrets"}}
}

func rolloutBinding() *admissionv1.ValidatingAdmissionPolicyBinding {
	return &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: "fairlead-operator-rollout"}}
}

func configMapsBinding() *admissionv1.ValidatingAdmissionPolicyBinding {
	return &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: "fairlead-operator-configmaps"}}
}

func writesBinding() *admissionv1.ValidatingAdmissionPolicyBinding {
	return &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: "fairlead-operator-writes"}}
}
