package lint

import "github.com/fairlead-io/fairlead/internal/core/cabundle"

// certificates looks at the dates of what machines are to trust.
func certificates(in Input) []Finding {
	if in.Now == 0 {
		return nil
	}
	var findings []Finding
	for _, c := range in.Certificates {
		finding := Finding{Code: Certificate, Severity: Warning, Why: c.Says(c.At(in.Now))}
		switch c.At(in.Now) {
		case cabundle.Expired:
			finding.Severity, finding.Mend = Error, "take it out; put its successor in, if there is one"
		case cabundle.ExpiresSoon:
			finding.Mend = "add its successor beside it"
		case cabundle.NotYetValid:
			finding.Mend = "keep the certificate that it replaces until then"
		case cabundle.Valid:
			continue
		}
		findings = append(findings, finding)
	}
	return findings
}
