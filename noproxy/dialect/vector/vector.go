// Package vector is the table of measured behaviour: questions that a real
// client was asked, and what it did. The files in table, one for each client
// and version, are what the dialects are tested with; "make vectors" measures
// anew. Users write files of the same format for their own expectations and
// check them with "fairlead explain --check".
//
// The package is pure.
package vector

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/fairlead-io/fairlead/noproxy/dialect"
)

// The proxies of a measurement. Env rows name them in their variables.
const (
	ProxyA  = "127.0.0.1:3128"
	ProxyB  = "127.0.0.1:3129"
	ProxyV6 = "[::1]:3128"
)

// Row is one question and its answer. The question is asked with NoProxy, while
// both proxy variables point to proxy A in both cases, or with Env, which is the
// whole environment. The answer is Expect, "proxy", "direct" or "fails", or
// Observed, which says what was contacted, how, and with which credentials:
//
//	direct | error | proxy A CONNECT auth=user:pw | proxy v6 tls | connects to 127.0.0.1:80
//
// Credentials are in Latin-1: one character stands for each byte.
type Row struct {
	Client   string            `json:"client"`
	Version  string            `json:"version,omitempty"` // empty: the newest that is known
	Name     string            `json:"name,omitempty"`
	NoProxy  *string           `json:"noProxy,omitempty"` // of Java: http.nonProxyHosts
	Env      map[string]string `json:"env,omitempty"`
	URL      string            `json:"url"`
	Expect   string            `json:"expect,omitempty"`
	Observed string            `json:"observed,omitempty"`
	Source   string            `json:"source,omitempty"`
	Group    string            `json:"group,omitempty"`
	Note     string            `json:"note,omitempty"`
}

// Parse reads a JSON list of rows. The error names the place: a line, or the
// number of the row, counted from 1.
func Parse(data []byte) ([]Row, error) { return parse(data, false) }

// ParseGiven reads rows that may lack noProxy and env: they are about a list that is given elsewhere.
func ParseGiven(data []byte) ([]Row, error) { return parse(data, true) }

func parse(data []byte, given bool) ([]Row, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // which editors add
	var raw []json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, fmt.Errorf("%sa JSON list of rows is expected: %w", place(data, err), inWords(err))
	}
	rows := make([]Row, len(raw))
	for i, text := range raw {
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.DisallowUnknownFields()
		err := decoder.Decode(&rows[i])
		if err == nil {
			err = rows[i].validate(given)
		}
		if err != nil {
			return nil, fmt.Errorf("row %d (line %d): %w", i+1, lineOf(data, raw, i), inWords(err))
		}
	}
	return rows, nil
}

// inWords rewrites an error of encoding/json about a wrong type, without the names of Go's types.
func inWords(err error) error {
	var wrong *json.UnmarshalTypeError
	switch {
	case !errors.As(err, &wrong):
		return err
	case wrong.Field == "":
		return fmt.Errorf("found JSON of type %s", wrong.Value)
	}
	return fmt.Errorf("%s: a %s is expected, found JSON of type %s", wrong.Field, wrong.Type, wrong.Value)
}

// place names the line of a syntax error.
func place(data []byte, err error) string {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Sprintf("line %d: ", 1+bytes.Count(data[:min(int(syntax.Offset), len(data))], []byte("\n")))
	}
	return ""
}

// lineOf finds the line on which a row starts.
func lineOf(data []byte, raw []json.RawMessage, row int) int {
	offset := 0
	for _, text := range raw[:row+1] {
		at := bytes.Index(data[offset:], text)
		offset += at
		if len(text) > 0 && &raw[row][0] != &text[0] {
			offset += len(text)
		}
	}
	return 1 + bytes.Count(data[:offset], []byte("\n"))
}

// Listless says whether the row has no list and no environment of its own.
func (r Row) Listless() bool { return r.Env == nil && r.NoProxy == nil }

func (r Row) validate(given bool) error {
	java := strings.HasPrefix(r.Client, "java")
	switch {
	case r.Client == "":
		return errors.New("client is missing")
	case r.URL == "":
		return errors.New("url is missing")
	case r.Env != nil && r.NoProxy != nil:
		return errors.New("a row has either noProxy or env")
	case r.Listless() && given && r.Observed != "":
		return errors.New("observed needs noProxy or env: the proxies of a list that is given elsewhere are other ones")
	case r.Listless() && !java && !given:
		return errors.New("noProxy or env is missing")
	case r.Expect != "" && r.Observed != "":
		return errors.New("a row has either expect or observed")
	case r.Observed == "" && r.Expect != "proxy" && r.Expect != "direct" && r.Expect != "fails":
		return fmt.Errorf("expect is proxy, direct or fails, not %q", r.Expect)
	case r.Version != "" && !strings.ContainsAny(r.Version, "0123456789"):
		return fmt.Errorf("version: there is no number in %q", r.Version)
	}
	choice, err := r.Choice()
	if err == nil {
		err = choice.Client.Check(choice.Version)
	}
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	if _, err := dialect.ParseTarget(r.URL); err != nil {
		return fmt.Errorf("url: %w", err)
	}
	return nil
}

// Choice returns the client of the row as of its version. A version may also
// stand behind the name: "curl@7.74".
func (r Row) Choice() (dialect.Choice, error) {
	name, version := r.Client, r.Version
	if before, after, ok := strings.Cut(name, "@"); ok && version == "" {
		name, version = before, after
	}
	client, err := dialect.Find(name)
	if err != nil {
		return dialect.Choice{}, err
	}
	return client.At(version), nil
}

// Environment returns what the client of the row finds around it.
func (r Row) Environment() dialect.Env {
	if r.Env != nil {
		return r.Env
	}
	const proxy = "http://" + ProxyA
	env := dialect.Uniform(proxy, proxy, "", "")
	if r.NoProxy != nil {
		env["no_proxy"], env["NO_PROXY"], env["http.nonProxyHosts"] = *r.NoProxy, *r.NoProxy, *r.NoProxy
	}
	return env
}

// Target returns the URL of the row, with what its host resolved to where it
// was measured: a name "resolves-to-10-99-0-1.test" to that address.
func (r Row) Target() (dialect.Target, error) {
	target, err := dialect.ParseTarget(r.URL)
	if err != nil {
		return target, err
	}
	if address, ok := strings.CutPrefix(target.Host, "resolves-to-"); ok {
		address, _, _ = strings.Cut(address, ".")
		if address == "loopback" {
			address = "127-0-0-1"
		}
		if addr, err := netip.ParseAddr(strings.ReplaceAll(address, "-", ".")); err == nil {
			target.Addrs = []netip.Addr{addr}
		}
	}
	if r.Source == "measured" && target.Addrs == nil && r.resolves() && !strings.Contains(strings.ToLower(target.Host), "localhost") {
		target.Addrs = []netip.Addr{elsewhere}
	}
	return target, nil
}

// elsewhere is the address to which every other name resolves where clients are measured.
var elsewhere = netip.AddrFrom4([4]byte{203, 0, 113, 1})

// resolves reports whether the client asks about what the name of the URL resolves to.
func (r Row) resolves() bool {
	choice, err := r.Choice()
	target, targetErr := dialect.ParseTarget(r.URL)
	_, isName := netip.ParseAddr(target.Host)
	return err == nil && targetErr == nil && choice.Resolves && isName != nil
}

// Want returns the answer that the row expects.
func (r Row) Want() string {
	return cmp.Or(r.Observed, r.Expect)
}

// Got returns what the dialect answers, in the words of Want. The row must be valid.
func (r Row) Got() (string, dialect.Decision, error) {
	choice, err := r.Choice()
	if err != nil {
		return "", dialect.Decision{}, err
	}
	target, err := r.Target()
	if err != nil {
		return "", dialect.Decision{}, err
	}
	decision := choice.Read(r.Environment())(target)
	if r.Observed == "" {
		return decision.Route.String(), decision, nil
	}
	return Observe(choice, decision), decision, nil
}
