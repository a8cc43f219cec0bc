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
	list, refused := ParseElements(Filled(text, source), nil)
	errs := make([]error, len(refused))
	for i := range refused {
		errs[i] = refused[i]
	}
	return list, errors.Join(errs...)
}

// WholeList is Whole for elements; nil if the list may be read.
func WholeList(elements []Element) *EntryError {
	texts := make([]string, len(elements))
	for i := range elements {
		texts[i] = elements[i].Text
	}
	at, refusal := Whole(texts)
	if refusal == nil {
		return nil
	}
	return &EntryError{elements[at].Source, refusal}
}

// ParseElements parses the elements, and returns the list of the valid ones beside
// the errors of the others. An empty element is refused. So is an element for
// which check, if it is not nil, returns a refusal. A list with user information
// in it is refused as a whole, with one error.
func ParseElements(elements []Element, check func(Element, Entry) *Refusal) (List, []*EntryError) {
	if refused := WholeList(elements); refused != nil {
		return nil, []*EntryError{refused}
	}
	var list List
	var refused []*EntryError
	for _, element := range elements {
		var refusal *Refusal
		entry, err := Parse(element.Text)
		if !errors.As(err, &refusal) && check != nil {
			refusal = check(element, entry)
		}
		if refusal != nil {
			refused = append(refused, &EntryError{element.Source, refusal})
			continue
		}
		list = append(list, Item{entry, []Source{element.Source}})
	}
	return list, refused
}
