package v1alpha1

// ReportedFinding is something in a NO_PROXY list or its proxy that is wrong, or
// that not every client reads alike. "fairlead lint" says it at length.
type ReportedFinding struct {
	// code of the finding; codes are stable.
	Code string `json:"code"`

	// severity: Error, Warning or Info.
	Severity string `json:"severity"`

	// entries that it is about; none if it is about the whole list.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	Entries []string `json:"entries,omitempty"`

	// message describes the problem, and how many clients it affects.
	Message string `json:"message"`
}
