package docs_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// page is a file of the documentation, as far as it runs.
type page struct {
	file    string
	cluster string // what it runs on: nothing if empty, or one of the kinds of cluster
	steps   []step
}

// step is a fenced block, or what a comment asks for in its place.
type step struct {
	line     int
	given    bool   // in a comment: what the reader is taken to have
	writes   string // the file that the block is
	console  bool   // with prompts and output
	notRun   string // why not
	status   int    // of the last command
	text     string
	commands []command
}

// command is what is run at a time, and what it prints.
type command struct {
	text string
	want string
}

const (
	clusterKinds = "demo, empty"
	shellBlock   = "sh"
	consoleBlock = "console"
	noCommands   = "text, yaml, json" // another language, such as bash or zsh, may be commands, which nobody would run
)

var (
	fence = regexp.MustCompile("^( *)```+ *([^ `]*) *$")
	// likeFence is what Markdown takes for a block as well: after a tab or a quote, with tildes, with more than a language.
	likeFence = regexp.MustCompile("^[ \t>*+-]*(```|~~~)")
	marker    = regexp.MustCompile(`^ *<!-- (not run|file|status|cluster|given): ?(.*)$`)
)

// parsePage reads the blocks of a page. What it cannot make sense of is an error with file and line.
func parsePage(file, text string) (page, error) {
	p := page{file: file}
	lines := strings.Split(text, "\n")
	next := step{} // what the comments above the next fence say
	said := 0      // the line of the last of them
	for i := 0; i < len(lines); i++ {
		if m := marker.FindStringSubmatch(lines[i]); m != nil {
			value, end, err := comment(lines, i, m[2])
			if err != nil {
				return p, fmt.Errorf("%s:%d: %w", file, i+1, err)
			}
			if err := p.mark(&next, m[1], value, i+1); err != nil {
				return p, fmt.Errorf("%s:%d: %w", file, i+1, err)
			}
			i, said = end, end
			continue
		}
		m := fence.FindStringSubmatch(lines[i])
		if m == nil {
			if likeFence.MatchString(lines[i]) {
				return p, fmt.Errorf("%s:%d: a block begins with blanks, ``` and its language alone", file, i+1)
			}
			if next.marked() {
				return p, fmt.Errorf("%s:%d: no block follows what the comment says", file, said+1)
			}
			continue
		}
		end := i + 1
		for end < len(lines) && strings.TrimSpace(lines[end]) != "```" {
			end++
		}
		if end == len(lines) {
			return p, fmt.Errorf("%s:%d: the block does not end", file, i+1)
		}
		next.line, next.text = i+1, dedent(lines[i+1:end], m[1])
		if err := next.read(m[2]); err != nil {
			return p, fmt.Errorf("%s:%d: %w", file, i+1, err)
		}
		if len(next.commands) > 0 || next.notRun != "" || next.writes != "" {
			p.steps = append(p.steps, next)
		}
		next, i = step{}, end
	}
	return p, nil
}

// comment returns what stands in a comment from its first line on, and its last line.
func comment(lines []string, first int, rest string) (value string, last int, err error) {
	if value, _, ends := strings.Cut(rest, "-->"); ends {
		return strings.TrimSpace(value), first, nil
	}
	for i := first + 1; i < len(lines); i++ {
		if before, _, ends := strings.Cut(lines[i], "-->"); ends {
			return rest + "\n" + strings.Join(lines[first+1:i], "\n") + "\n" + before, i, nil
		}
	}
	return "", first, fmt.Errorf("the comment does not end")
}

func (p *page) mark(next *step, name, value string, line int) error {
	switch name {
	case "cluster":
		if !slices.Contains(strings.Split(clusterKinds, ", "), value) || p.cluster != "" || len(p.steps) > 0 {
			return fmt.Errorf("cluster is one of %s, once and above all commands, not %q", clusterKinds, value)
		}
		p.cluster = value
	case "given":
		p.steps = append(p.steps, step{line: line, given: true, commands: []command{{text: value}}})
	case "not run":
		if len(value) < 10 {
			return fmt.Errorf("not run: it takes a reason")
		}
		next.notRun = value
	case "file":
		next.writes = value
	case "status":
		if _, err := fmt.Sscanf(value, "%d", &next.status); err != nil {
			return fmt.Errorf("status: %w", err)
		}
	}
	return nil
}

func (s *step) marked() bool { return s.notRun != "" || s.writes != "" || s.status != 0 }

// read makes commands of the block's text.
func (s *step) read(language string) error {
	switch language {
	case "":
		return fmt.Errorf("the block has no language: sh or console for commands, text for what is none")
	case shellBlock:
		s.commands = []command{{text: s.text}}
	case consoleBlock:
		s.console = true
		s.commands = prompts(s.text)
		if len(s.commands) == 0 || !strings.HasPrefix(s.text, "$ ") {
			return fmt.Errorf("a console block begins with $ and a command")
		}
	default:
		if !slices.Contains(strings.Split(noCommands, ", "), language) {
			return fmt.Errorf("%s is no language of a block: %s or %s for commands; what is none is %s", language, shellBlock, consoleBlock, noCommands)
		}
		if s.notRun != "" || s.status != 0 {
			return fmt.Errorf("a block of %s is no command", language)
		}
	}
	if s.writes != "" && len(s.commands) > 0 {
		return fmt.Errorf("a block of commands is no file")
	}
	if s.notRun != "" {
		s.commands = nil
	}
	return nil
}

// prompts reads what stands on a terminal: "$ " before a command, "> " before its further lines, then the output.
func prompts(text string) []command {
	var commands []command
	printed := false
	for line := range strings.SplitSeq(text, "\n") {
		if first, is := strings.CutPrefix(line, "$ "); is {
			commands, printed = append(commands, command{text: first}), false
			continue
		}
		if len(commands) == 0 {
			return nil
		}
		last := &commands[len(commands)-1]
		if more, is := strings.CutPrefix(line, "> "); is && !printed {
			last.text += "\n" + more
			continue
		}
		printed = true
		last.want += line + "\n"
	}
	return commands
}

func dedent(lines []string, indent string) string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = strings.TrimPrefix(line, indent)
	}
	return strings.Join(out, "\n")
}
