package explain

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/cmd/evenkeel/internal/traces"
	"evenkeel.dev/internal/across"
	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/internal/verdict"
	"evenkeel.dev/reqtrace"
)

// Upstream stands for all services but the first one, and the ways to them.
const Upstream = "upstream"

// CheckAcross says which limits of services' shares are exceeded. They are inconclusive if the slowest
// requests are too few, and for another service than the first if too few waits are joined.
func (l Limits) CheckAcross(s *across.Story, front string) (lines []string, err error) {
	if !s.Worth() {
		return nil, nil
	}
	for _, x := range l {
		share := 0.
		for _, p := range s.Parts {
			if p.Service == x.cause || x.cause == Upstream && p.Service != front {
				share += p.Share
			}
		}
		switch {
		case share*100 > x.percent && !s.Enough():
			lines = append(lines, fmt.Sprintf("-fail-if %s: inconclusive: the slowest 1%% are only %s", x.text,
				textfmt.Plural(s.Slow, "request")))
			err = cmp.Or(err, cli.ErrInconclusive)
		case share*100 > x.percent:
			lines, err = append(lines, x.exceeded(share*100)), cli.ErrLimit
		case x.cause != front && !s.Known():
			lines = append(lines, fmt.Sprintf("-fail-if %s: inconclusive: only %s of the waits for the network are "+
				"joined", x.text, textfmt.Share(s.Joined)))
			err = cmp.Or(err, cli.ErrInconclusive)
		}
	}
	return lines, err
}

const acrossWidth = 100

// WriteAcross writes the story of several services, and the sentence of each.
func WriteAcross(w io.Writer, s *across.Story, services []traces.Service, o verdict.Options) error {
	var out strings.Builder
	style, width := textfmt.Style{Color: o.Color}, cmp.Or(o.Width, acrossWidth)
	wrap := func(first, text string, style func(string) string) {
		if text != "" {
			textfmt.Wrap(&out, width, first, text, style)
		}
	}
	wrap("", s.Sentence, style.Bold)
	wrap("", s.Detail, nil)
	wrap("Fix: ", s.Fix, nil)
	wrap("", strings.Join(s.Figures(), " "), nil)
	out.WriteString("\n")
	table := textfmt.NewTable(6)
	table.Add(style.Bold, []string{"of a request of " + services[0].Name, "median", "p99+", "more", "share", ""})
	for _, p := range s.Parts {
		name := p.Service
		if p.Between {
			name = "  on the way to " + name + " and back"
		}
		share, bar := textfmt.Bar(p.Share)
		table.Add(nil, []string{
			name, textfmt.Duration(p.Median), textfmt.Duration(p.Tail), textfmt.SignedDuration(p.Excess), share, bar,
		})
	}
	table.Render(&out)
	for _, c := range s.Caveats {
		wrap("! ", c, nil)
	}
	fmt.Fprintf(&out, "\n%s\n", style.Bold("each service by itself"))
	for i := range services {
		text := "No request was found in its trace."
		if v := services[i].Verdict; v != nil {
			text = v.Sentence
		}
		wrap("  "+services[i].Name+": ", text, nil)
	}
	_, err := io.WriteString(w, out.String())
	return err
}

type serviceJSON struct {
	Name    string           `json:"name"`
	Source  string           `json:"source"`
	Verdict *verdict.Verdict `json:"verdict"` // null: no request was found
	Report  *reqtrace.Report `json:"report"`
}

// WriteAcrossJSON writes the story, and each service's verdict and report.
func WriteAcrossJSON(w io.Writer, s *across.Story, services []traces.Service) error {
	var list []serviceJSON
	for _, x := range services {
		j := serviceJSON{x.Name, x.Source, x.Verdict, x.Report}
		if x.Report != nil {
			j.Report = complete(x.Report)
		}
		list = append(list, j)
	}
	return cli.WriteJSON(w, struct {
		Version  int           `json:"version"`
		Tool     string        `json:"tool"`
		Story    *across.Story `json:"story"`
		Services []serviceJSON `json:"services"`
	}{version, runfile.Tool(), s, list})
}

// complete returns the report with lists in place of nil.
func complete(report *reqtrace.Report) *reqtrace.Report {
	r := *report
	r.Bands, r.Blocks, r.CCDF, r.Classes, r.Slowest, r.Spans = notNil(r.Bands), notNil(r.Blocks), notNil(r.CCDF),
		notNil(r.Classes), notNil(r.Slowest), notNil(r.Spans)
	return &r
}

func isService(name string, services []string) bool {
	return len(services) > 0 && (name == Upstream || slices.Contains(services, name))
}
