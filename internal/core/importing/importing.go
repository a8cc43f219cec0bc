// Package importing reads the proxy settings of other systems, writes them as Fairlead's objects, and compares what clients
// do with either. Every format has a file of its own, which also has what that system adds to NO_PROXY by itself, and where
// that was read. Nothing that is reported, and no error, shows user information of a URL.
package importing

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/fairlead-io/fairlead/internal/core/proxyenv"
	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/internal/core/unitfile"
)

// Place is where something stands.
type Place struct {
	File  string `json:"file"`
	Line  int    `json:"line,omitempty"` // counted from 1; 0: the whole file
	Field string `json:"field,omitempty"`
}

// String returns file:line: field.
func (p Place) String() string {
	text := p.File
	if p.Line > 0 {
		text += fmt.Sprintf(":%d", p.Line)
	}
	if p.Field != "" {
		text += ": " + p.Field
	}
	return text
}

func (p Place) errorf(format string, args ...any) error {
	return fmt.Errorf("%s: %w", p, fmt.Errorf(format, args...))
}

// Entry is one of NO_PROXY as the other system has it.
type Entry struct {
	Text   string
	Place  Place
	Reason string // of an entry that the system adds by itself: the rule
}

// URL is a proxy's, and where it stands.
type URL struct {
	proxyurl.URL
	Place Place
}

// CA is the certificates that the proxy is trusted by: either the PEM bundle, or a ConfigMap that has it.
type CA struct {
	PEM       []byte
	Name, Key string
}

// Settings are the proxy settings in one file, or of one cluster in a file.
type Settings struct {
	System  *Format
	Place   Place
	Cluster *clusterv1.Cluster // that they are for; nil: the file does not say
	HTTP    URL
	HTTPS   URL
	NoProxy []Entry // as they are configured
	// Effective is the whole list as the system itself reports it; nil: it does not, and Added says what comes to it.
	Effective []Entry
	CA        CA
	// Variables are the variables that programs find. Some clients read one case alone.
	Variables []string
	// Lists are the lists of variables that the file sets one by one, and Blank are its empty variables, which hide others from
	// some clients.
	Lists map[string][]Entry
	Blank []string
	Lines []Line
	// extra has settings that only Adds of the format understands.
	extra map[string]string
}

// Verdict says what became of a setting.
type Verdict string

// The verdicts.
const (
	Understood    Verdict = "understood"
	NotSupported  Verdict = "not supported"
	NotRecognised Verdict = "not recognised"
)

// Line of the report is about one setting.
type Line struct {
	Place   Place   `json:"place"`
	Verdict Verdict `json:"verdict"`
	Text    string  `json:"text,omitempty"`
}

// String returns the line without its end.
func (l Line) String() string {
	text := l.Place.String() + ": " + string(l.Verdict)
	if l.Text != "" {
		text += ": " + l.Text
	}
	return text
}

func (s *Settings) say(at Place, v Verdict, text string) {
	s.Lines = append(s.Lines, Line{at, v, text})
}

// Format is how one system writes its settings down.
type Format struct {
	Name  string // of --from
	Title string
	adds  func(Settings, resolve.Cluster) (before, after []Entry) // nil: nothing
	// bare: it adds nothing to the list of machines.
	bare bool
	// detect recognises a file; nil: one with such objects.
	detect func(*file) bool
	// A file of YAML has objects with settings, each of which take reads. Any other is read as a whole.
	objects func(*file) []*yaml.Node
	take    func(*file, *Settings, *yaml.Node) error
	read    func(*file) (Settings, error)
}

// Added returns what the system adds to the list by itself, in front of it and behind it.
func (s Settings) Added(cluster resolve.Cluster) (before, after []Entry) {
	if s.System.adds == nil {
		return nil, nil
	}
	return s.System.adds(s, cluster)
}

func (f *Format) detects(in *file) bool {
	if f.detect != nil {
		return f.detect(in)
	}
	return len(f.objects(in)) > 0
}

func (f *Format) settings(in *file) ([]Settings, error) {
	if f.read != nil {
		s, err := f.read(in)
		return []Settings{s}, err
	}
	if _, err := in.documents(); err != nil {
		return nil, err
	}
	var all []Settings
	for _, n := range f.objects(in) {
		in.read[n] = true
		s := Settings{Place: in.at(n.Line, "")}
		if err := f.take(in, &s, n); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

func formats() []*Format {
	return []*Format{
		openShift, eksAnywhere, caren, tkg, rke2, aks, arc, dropIn, environmentFile, clusterAppsOperator, kyvernoPolicies,
	}
}

// Names returns the names of all formats.
func Names() []string { return namesOf(formats()) }

func namesOf(formats []*Format) []string {
	var names []string
	for _, f := range formats {
		names = append(names, f.Name)
	}
	return names
}

// Read returns the settings in a file. Without a format's name, the content says which it is.
func Read(name string, data []byte, format string) ([]Settings, error) {
	f := &file{name: name, data: data, read: map[*yaml.Node]bool{}}
	f.documents = sync.OnceValues(f.parse)
	chosen, err := f.format(format)
	if err != nil {
		return nil, err
	}
	all, err := chosen.settings(f)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: no settings of %s in it", name, chosen.Title)
	}
	f.sayUnread(&all[len(all)-1])
	for i := range all {
		s := &all[i]
		s.System = chosen
		if s.HTTP.IsZero() && s.HTTPS.IsZero() {
			return nil, s.Place.errorf("no URL of a proxy in it%s", s.unsupported())
		}
	}
	return all, nil
}

// unsupported returns why there is nothing else.
func (s Settings) unsupported() string {
	at := slices.IndexFunc(s.Lines, func(l Line) bool { return l.Verdict == NotSupported })
	if at < 0 {
		return ": nothing goes through one there"
	}
	return " (" + s.Lines[at].String() + ")"
}

// file is one that is read.
type file struct {
	name      string
	data      []byte
	documents func() ([]*yaml.Node, error) // of YAML
	read      map[*yaml.Node]bool
	// clusters are the clusters of Cluster API, once they were asked for.
	clusters []*clusterv1.Cluster
}

func (f *file) base() string { return path.Base(strings.ReplaceAll(f.name, `\`, "/")) }

func (f *file) at(line int, field string) Place { return Place{f.name, line, field} }

func (f *file) format(name string) (*Format, error) {
	var candidates []*Format
	for _, format := range formats() {
		if name == format.Name {
			return format, nil
		}
		if name == "" && format.detects(f) {
			candidates = append(candidates, format)
		}
	}
	switch {
	case name != "":
		return nil, fmt.Errorf("there is no format %q: use one of %s", name, strings.Join(Names(), ", "))
	case len(candidates) == 1:
		return candidates[0], nil
	case len(candidates) == 0:
		if line := f.environmentLine(false); line > 0 {
			return nil, f.at(line, "").errorf(outsideOfService)
		}
		return nil, fmt.Errorf("%s: not recognised as any of %s%s; say which with --from", f.name, strings.Join(Names(), ", "), f.why())
	}
	return nil, fmt.Errorf("%s: may be %s: say which with --from", f.name, strings.Join(namesOf(candidates), " or "))
}

// why returns a reason for which a file may not have been recognised.
func (f *file) why() string {
	all := unitfile.Assignments(f.data)
	other := slices.IndexFunc(all, func(a unitfile.Assignment) bool { return a.Name == "" })
	if other >= 0 && slices.ContainsFunc(all, func(a unitfile.Assignment) bool { return unitfile.IsProxyVariable(a.Name) || isMarked(a) }) {
		return fmt.Sprintf(" (%d: no assignment, which systemd drops)", all[other].Line)
	}
	if _, err := f.documents(); err != nil && !looksLikeVariables(f) {
		return " (" + strings.TrimPrefix(err.Error(), f.name+":") + ")"
	}
	return ""
}

// isMarked reports whether a variable stands behind a byte order mark, which systemd does not skip.
func isMarked(a unitfile.Assignment) bool {
	return a.Line == 1 && strings.HasPrefix(a.Raw, unitfile.ByteOrderMark) && strings.Contains(a.Raw, "=")
}

// variables are the names in both cases, or in upper case alone.
var (
	upperCase = proxyenv.Upper
	bothCases = slices.Concat(upperCase, []string{proxyenv.LowerHTTP, proxyenv.LowerHTTPS, proxyenv.LowerNoProxy})
)

var errTwice = errors.New("is given a second time with another value")

// setURL parses a URL, and refuses a second one that differs.
func (s *Settings) setURL(into *URL, text string, at Place) error {
	u, err := proxyurl.Parse(text)
	switch {
	case err != nil:
		return at.errorf("%w", err)
	case u.IsZero():
		s.say(at, Understood, "empty: no proxy")
		return nil
	case !into.IsZero() && !into.Equal(u):
		return at.errorf("%w: the first is in %s", errTwice, into.Place)
	case into.IsZero():
		*into = URL{u, at}
	}
	says := ""
	if u.HasCredentials() {
		says = "with user information, which goes into a Secret"
	}
	s.say(at, Understood, says)
	return nil
}
