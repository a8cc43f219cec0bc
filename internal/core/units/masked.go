package units

// masked is the file that masks a service: its unit, if it is empty or links to /dev/null.
func (m machine) masked(units []string) string {
	if len(units) == 0 {
		return ""
	}
	if text, err := m.files.read(units[0]); err != nil || len(text) > 0 {
		return ""
	}
	return units[0]
}
