package noproxy

import "errors"

// EntryError is a refused entry of a list, and where it stands.
type EntryError struct {
	Source  Source // its field ends with the position, counted from 0
	Refusal *Refusal
}

// Error returns the field and the refusal in one line.
func (e *EntryError) Error() string { return e.Source.Field + ": " + e.Refusal.Error() }

// Unwrap returns the refusal.
func (e *EntryError) Unwrap() error { return e.Refusal }

// ParseList reads a NO_PROXY string, whose entries get the source with their
// position. The error joins an *EntryError for each entry that is refused. A list
// with user information in it is refused as a whole, and no entry of it is shown.
func ParseList(text string, source Source) (List, error) {
	elements := Cut(text, source)
	texts := make([]string, len(elements))
	for i := range elements {
		texts[i] = elements[i].Text
	}
	if at, refusal := Whole(texts); refusal != nil {
		return nil, &EntryError{elements[at].Source, refusal}
	}
	var list List
	var refused []error
	for _, element := range elements {
		if element.Text == "" {
			continue
		}
		entry, err := Parse(element.Text)
		var refusal *Refusal
		if errors.As(err, &refusal) {
			refused = append(refused, &EntryError{element.Source, refusal})
			continue
		}
		list = append(list, Item{entry, []Source{element.Source}})
	}
	return list, errors.Join(refused...)
}
