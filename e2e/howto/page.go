package howto

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Document is a file of the documentation, as far as it runs.
type Document struct {
	File    string
	Cluster string // what it runs on: nothing if empty, or one of the kinds of cluster
	Steps   []Step
}

// Step is a fenced block, or what a comment asks for in its place.
type Step struct {
	Section  string // the title above it
	Line     int
	Given    bool   // in a comment: what the reader is taken to have
	Writes   string // the file that the block is
	Console  bool   // with prompts and output
	NotRun   string // why not
	Status   int    // of the last command
	Text     string
	Commands []Command
}

// Command is a command that is run at once, with its expected output.
type Command struct {
	Text string
	Want string
}

// The languages of blocks of commands.
const (
	ShellBlock   = "sh"
	ConsoleBlock = "console"
)

const (
	clusterKinds = "demo, empty"
	noCommands   = "text, yaml, json" // another language, such as bash or zsh, may be commands, which nobody would run
)

var (
	fence = regexp.MustCompile("^( *)```+ *([^ `]*) *$")
	// likeFence is what Markdown takes for a block as well: after a tab or a quote, with tildes, with more than a language.
	likeFence = regexp.MustCompile("^[ \t>*+-]*(```|~~~)")
	marker    = regexp.MustCompile(`^ *<!-- (not run|file|status|cluster|given): ?(.*)$`)
)

// Parse reads the blocks of a page. What it cannot make sense of is an error with file and line.
func Parse(file, text string) (Document, error) {
	p := Document{File: file}
	lines := strings.Split(text, "\n")
	section := ""
	next := Step{} // what the comments above the next fence say
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
			if title, is := strings.CutPrefix(lines[i], "## "); is {
				section = title
			}
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
		next.Section, next.Line, next.Text = section, i+1, Dedent(lines[i+1:end], m[1])
		if err := next.read(m[2]); err != nil {
			return p, fmt.Errorf("%s:%d: %w", file, i+1, err)
		}
		if len(next.Commands) > 0 || next.NotRun != "" || next.Writes != "" {
			p.Steps = append(p.Steps, next)
		}
		next, i = Step{}, end
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

func (p *Document) mark(next *Step, name, value string, line int) error {
	switch name {
	case "cluster":
		if !slices.Contains(strings.Split(clusterKinds, ", "), value) || p.Cluster != "" || len(p.Steps) > 0 {
			return fmt.Errorf("cluster is one of %s, once and above all commands, not %q", clusterKinds, value)
		}
		p.Cluster = value
	case "given":
		p.Steps = append(p.Steps, Step{Line: line, Given: true, Commands: []Command{{Text: value}}})
	case "not run":
		if len(value) < 10 {
			return fmt.Errorf("not run: it takes a reason")
		}
		next.NotRun = value
	case "file":
		next.Writes = value
	case "status":
		if _, err := fmt.Sscanf(value, "%d", &next.Status); err != nil {
			return fmt.Errorf("status: %w", err)
		}
	}
	return nil
}

func (s *Step) marked() bool { return s.NotRun != "" || s.Writes != "" || s.Status != 0 }

// read makes commands of the block's text.
func (s *Step) read(language string) error {
	switch language {
	case "":
		return fmt.Errorf("the block has no language: sh or console for commands, text for what is none")
	case ShellBlock:
		s.Commands = []Command{{Text: s.Text}}
	case ConsoleBlock:
		s.Console = true
		s.Commands = prompts(s.Text)
		if len(s.Commands) == 0 || !strings.HasPrefix(s.Text, "$ ") {
			return fmt.Errorf("a console block begins with $ and a command")
		}
	default:
		if !slices.Contains(strings.Split(noCommands, ", "), language) {
			return fmt.Errorf("%s is no language of a block: %s or %s for commands; what is none is %s", language, ShellBlock, ConsoleBlock, noCommands)
		}
		if s.NotRun != "" || s.Status != 0 {
			return fmt.Errorf("a block of %s is no command", language)
		}
	}
	if s.Writes != "" && len(s.Commands) > 0 {
		return fmt.Errorf("a block of commands is no file")
	}
	if s.NotRun != "" {
		s.Commands = nil
	}
	return nil
}

// prompts reads what stands on a terminal: "$ " before a command, "> " before its further lines, then the output.
func prompts(text string) []Command {
	var commands []Command
	printed := false
	for line := range strings.SplitSeq(text, "\n") {
		if first, is := strings.CutPrefix(line, "$ "); is {
			commands, printed = append(commands, Command{Text: first}), false
			continue
		}
		if len(commands) == 0 {
			return nil
		}
		last := &commands[len(commands)-1]
		if more, is := strings.CutPrefix(line, "> "); is && !printed {
			last.Text += "\n" + more
			continue
		}
		printed = true
		last.Want += line + "\n"
	}
	return commands
}

// Dedent takes the indent off the lines of a block.
func Dedent(lines []string, indent string) string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = strings.TrimPrefix(line, indent)
	}
	return strings.Join(out, "\n")
}
