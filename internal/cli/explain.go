package cli

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/cli/terminal"
	"github.com/fairlead-io/fairlead/noproxy/explain"
	"github.com/fairlead-io/fairlead/noproxy/explain/page"
)

type explainOptions struct {
	renderOptions
	noProxy               string
	httpProxy, httpsProxy string
	clients, resolve      []string
	check                 bool
	failOn                string

	given func(flag string) bool // whether it is on the command line
	urls  []string               // with --check: files
}

var explainOutputs = []string{tableOutput, wideOutput, "json", "yaml", jsonPath, "html", "junit"}

func explainCommand() *cobra.Command {
	var opts explainOptions
	cmd := &cobra.Command{
		Use:   "explain URL... (--values FILE | --proxy FILE) --cluster FILE | explain URL... --no-proxy LIST | explain --check FILE... [--values FILE --cluster FILE]",
		Short: "Show which clients go direct to a URL, which use the proxy, and why",
		Long: `Show which clients go direct to a URL, which use the proxy, and why: the entry
that decided, and where it was written.

The list is the operator's for a cluster (--values or --proxy, with --cluster) or
the one of --no-proxy. An empty one is a list, too, and so is an empty --http-proxy
no proxy. A URL without a scheme means https. The exit status is 0 for an answer,
1 if clients disagree with --fail-on disagreement, and 2 if the command line or a
file is wrong.

With --check it compares expectations in files (- is standard input) with what
clients do; the exit status is 1 for a mismatch. Expectations without a list use
the list of the command line. -o junit is the format of build servers.
No password is printed.`,
		Example: `  fairlead explain kubernetes.default.svc 10.1.2.3 --values secret-values.yaml --cluster cluster.yaml

  # a given list, three clients, one of them in an older version
  fairlead explain example.com. --no-proxy "$NO_PROXY" --client go,curl,curl@7.74

  # for colleagues
  fairlead explain 100.64.0.1 foo.svc --no-proxy 100.64.0.0/13,.svc -o html > noproxy.html

  # in a pipeline
  fairlead explain --check expectations.json
  fairlead explain --check must-hold.json --values secret-values.yaml --cluster cluster.yaml -o junit > explain.xml`,
		PreRunE: func(cmd *cobra.Command, args []string) error {
			opts.urls, opts.given = args, cmd.Flags().Changed
			return usage(opts.checkExplain())
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if opts.check {
				return runExplainCheck(cmd, opts)
			}
			return runExplain(cmd, opts)
		},
	}
	opts.flags(cmd)
	return cmd
}

func (o *explainOptions) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	o.inputFlags(flags)
	atFlag(flags, &o.at)
	flags.StringVar(&o.audience, "audience", "any", "the list for these programs: "+strings.Join(audiences, ", "))
	flags.StringVar(&o.noProxy, "no-proxy", "", "a NO_PROXY list, which may be empty, instead of --values and --proxy")
	flags.StringVar(&o.httpProxy, "http-proxy", "", "proxy for http URLs, with --no-proxy (default: an example proxy for both)")
	flags.StringVar(&o.httpsProxy, "https-proxy", "", "proxy for https URLs, with --no-proxy")
	flags.StringSliceVar(&o.clients, "client", nil, "client or client@version; may be repeated; all: every behaviour (default: every client, newest)")
	flags.StringArrayVar(&o.resolve, "resolve", nil, "host=address, for clients that resolve names first; may be repeated")
	flags.BoolVar(&o.check, "check", false, "compare expectations in these files with what clients do")
	failOnFlag(cmd, &o.failOn, never, "exit with 1 if clients disagree: "+strings.Join(failExplain, ", "), failExplain)
	outputFlag(cmd, &o.output, tableOutput, explainOutputs)
}

func (o *explainOptions) checkExplain() error {
	if err := cmp.Or(oneOf("--audience", o.audience, audiences), o.checkOutput(), checkFailOn(&o.failOn, failExplain)); err != nil {
		return err
	}
	switch {
	case o.check:
		return o.checkCheck()
	case o.given("client") && len(o.clients) == 0:
		return errors.New("--client is empty: leave it out for every client")
	case len(o.urls) == 0:
		return errors.New("give at least one URL to explain")
	case o.given("no-proxy"):
		return o.checkWritten()
	case o.given("http-proxy") || o.given("https-proxy"):
		return errors.New("--http-proxy and --https-proxy stand beside --no-proxy")
	case o.values == "" && o.proxy == "":
		return errors.New("give exactly one of --values, --proxy and --no-proxy")
	}
	return o.checkInputs()
}

func (o *explainOptions) checkOutput() error {
	if o.output == "junit" && !o.check {
		return errors.New("-o junit is for --check")
	}
	return checkOutput(o.output, explainOutputs)
}

// checkWritten is for a list as it stands.
func (o *explainOptions) checkWritten() error {
	if o.values != "" || o.proxy != "" || len(o.clusters) > 0 || len(o.override) > 0 || o.form != "" || o.given("audience") {
		return errors.New("--no-proxy is a list as it stands: it takes no --values, --proxy, --cluster, --override, --form or --audience")
	}
	return nil
}

func runExplain(cmd *cobra.Command, opts explainOptions) error {
	choices, err := explain.Choose(opts.clients)
	if err != nil {
		return usage(fmt.Errorf("--client: %w", err))
	}
	targets, err := opts.targets()
	if err != nil {
		return usage(err)
	}
	subject, err := opts.subject(cmd)
	if err != nil {
		return usage(err) // status 1 is an answer where --fail-on says so
	}
	explanations := explain.Evaluate(subject.configuration, choices, targets)
	if err := opts.print(cmd.OutOrStdout(), subject, explanations); err != nil {
		return err
	}
	if opts.failOn != never && !explain.Agree(explanations) {
		return errQuiet
	}
	return nil
}

func (o *explainOptions) print(out io.Writer, subject subject, explanations []explain.Explanation) error {
	if o.output == "html" {
		return page.Write(out, page.Page{Subject: subject.title, Entries: subject.configuration.List.Entries(), Explanations: explanations})
	}
	return printFound(out, o.output, explanations, func(s terminal.Style) []byte {
		wide := o.output == wideOutput
		table := explainTable{style: s, until: subject.until, sources: wide, wide: wide || len(o.clients) > 0 && !slices.Contains(o.clients, "all")}
		for _, e := range explanations {
			table.add(e)
		}
		return table.text.Bytes()
	})
}

// explainTable is a block for each URL: the URL, a sentence, and what clients do.
type explainTable struct {
	style   terminal.Style
	wide    bool // a line for each client
	sources bool // where its rules are from
	until   func(*explain.Source) string
	text    bytes.Buffer
}

func (t *explainTable) add(e explain.Explanation) {
	if t.text.Len() > 0 {
		t.text.WriteByte('\n')
	}
	mark := "  "
	if !e.Agree {
		mark = t.style.Paint(terminal.Yellow+";"+terminal.Bold, "!") + " "
	}
	fmt.Fprintf(&t.text, "%s%s\n", mark, t.style.Paint(terminal.Bold, explain.Shown(e.URL)))
	t.text.WriteString(t.style.Paragraph(margin, e.Summary))
	if t.wide {
		t.lines(e)
		return
	}
	for _, group := range e.Groups() {
		t.group(group)
	}
}

const margin = "  "

// group is one decision with its reason, and below it who decides so.
func (t *explainTable) group(g explain.Group) {
	inner := margin + strings.Repeat(" ", len("direct  "))
	fmt.Fprint(&t.text, margin, t.style.Paint(terminal.Decision(g.Decision), fmt.Sprintf("%-6s  ", g.Decision)))
	if g.Entry != "" {
		fmt.Fprint(&t.text, t.style.Paint(terminal.Bold, g.Entry), "  ")
	}
	fmt.Fprintln(&t.text, g.Reason)
	if from := g.Source.String(); from != "" {
		fmt.Fprintln(&t.text, inner+"from "+explain.Shown(from))
	}
	if until := t.until(g.Source); until != "" {
		t.text.WriteString(t.style.Paragraph(inner, until))
	}
	t.text.WriteString(t.style.Paragraph(inner, strings.Join(g.Clients, ", ")))
}

func (t *explainTable) lines(e explain.Explanation) {
	lines := terminal.Table{Style: t.style, Margin: margin, Gap: 2, Heading: []string{"CLIENT", "DECISION", "ENTRY", "REASON", "FROM", "MEASURED"}}
	if t.sources {
		lines.Heading = append(lines.Heading, "SOURCE")
	}
	for _, row := range explain.Rows([]explain.Explanation{e}) {
		a := row.Answers[0]
		decision := e.Word(a)
		cells := terminal.Cells(row.Name, decision, terminal.Dash(explain.Shown(a.Entry)), a.Reason, terminal.Dash(explain.Shown(a.Source.String())), measured(row.Measured))
		if t.sources {
			cells = append(cells, terminal.Cells(strings.Join(row.Sources, "; "))...)
		}
		cells[1].Colour = terminal.Decision(decision)
		lines.Add(cells...)
	}
	t.text.Write(lines.Bytes())
}

// measured says which versions were run, or that none was.
func measured(versions []string) string {
	if len(versions) == 0 {
		return "read only"
	}
	return strings.Join(versions, ", ")
}
