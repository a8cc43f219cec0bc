package v1alpha1

// ReportedFinding is something in a NO_PROXY list or its proxy that is wrong, or
// that not every client reads alike. "fairlead lint" says it at length.
type ReportedFinding struct {
	// code names the kind of finding; codes are stable.
	Code string `json:"code"`

	// severity: Error, Warning or Info.
	Severity string `json:"severity"`

	// entries that it is about, at most four; none if it is about all of it.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	Entries []string `json:"entries,omitempty"`

	// message says what is wrong, and how many clients are affected.
	Message string `json:"message"`
}
