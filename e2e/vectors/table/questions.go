package table

import (
	"encoding/json"
	"fmt"
	"os"
)

// ReadQuestions reads a list of questions: rows without client and answer, in
// which "urls" may stand for several.
func ReadQuestions(file string) ([]Row, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var entries []struct {
		Row
		URLs []string `json:"urls"`
	}
	if err := json.Unmarshal(content, &entries); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var questions []Row
	for i, entry := range entries {
		if (entry.NoProxy == nil) == (entry.Env == nil) || (entry.URL == "") == (len(entry.URLs) == 0) {
			return nil, fmt.Errorf("%s: question %d: one of noProxy and env is expected, and one of url and urls", file, i+1)
		}
		if entry.URL != "" {
			entry.URLs = []string{entry.URL}
		}
		for _, url := range entry.URLs {
			row := entry.Row
			row.URL = url
			if _, err := row.Vector(); err != nil {
				return nil, fmt.Errorf("%s: question %d: %w", file, i+1, err)
			}
			questions = append(questions, row)
		}
	}
	return questions, nil
}
