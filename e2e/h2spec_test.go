//go:build unix

package e2e

import (
	"encoding/xml"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"evenkeel.dev/aio"
)

// TestH2spec runs h2spec's cases of RFC 9113 (as 7540) and HPACK against net/http and httpd. The
// same ones fail. A case that differs runs again, because some depend on time.
func TestH2spec(t *testing.T) {
	needsCheck(t)
	bin := tool(t, "h2spec", "it from github.com/summerwind/h2spec")
	std := serveClients(t, alone)
	run := func(url string, sections ...string) map[string]string {
		t.Helper()
		return h2specCases(t, bin, url, sections)
	}
	urls := func(s *served) []string { return []string{s.plain, s.secure} }
	var want []map[string]string
	for _, url := range urls(std) {
		cases := run(url)
		want = append(want, cases)
		ended := map[string]int{}
		for _, how := range cases {
			ended[how]++
		}
		t.Logf("net/http, %s: %v", url, ended)
		if ended["passed"] < 130 {
			t.Errorf("of all cases net/http passes %d", ended["passed"])
		}
	}
	for _, backend := range []aio.Backend{aio.BackendEpoll, aio.BackendIOUring} {
		t.Run(backend.String(), func(t *testing.T) {
			s := serveClients(t, backend.String())
			for i, url := range urls(s) {
				got := run(url)
				for _, name := range slices.Sorted(maps.Keys(want[i])) {
					ours, theirs := got[name], want[i][name]
					for attempt := 0; ours != theirs && attempt < 5; attempt++ {
						section, _, _ := strings.Cut(name, ": ")
						ours, theirs = run(url, section)[name], run(urls(std)[i], section)[name]
					}
					if ours != theirs {
						t.Errorf("%s, %s: %s, by net/http %s", url, name, ours, theirs)
					}
				}
				if len(got) != len(want[i]) {
					t.Errorf("%s: %d cases, by net/http %d", url, len(got), len(want[i]))
				}
			}
		})
	}
}

// h2specCases runs all cases, or those of sections, and returns how each ended.
func h2specCases(t *testing.T, bin, url string, sections []string) map[string]string {
	t.Helper()
	report := filepath.Join(t.TempDir(), "report.xml")
	args := append([]string{
		"--strict", "--junit-report", report, "--host", "127.0.0.1", "--port", portOnly(url),
		"--path", "/hello",
	}, sections...)
	if strings.HasPrefix(url, "https:") {
		args = append(args, "--tls", "--insecure")
	}
	said, err := exec.CommandContext(t.Context(), bin, args...).CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) { // 1 if a case fails
		t.Fatal(err)
	}
	b, err := os.ReadFile(report)
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	var all struct {
		Suites []struct {
			Cases []struct {
				Package string    `xml:"package,attr"`
				Name    string    `xml:"classname,attr"`
				Failure *struct{} `xml:"failure"`
				Error   *struct{} `xml:"error"`
				Skipped *struct{} `xml:"skipped"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	ended := map[string]string{}
	for _, suite := range all.Suites {
		for _, c := range suite.Cases {
			how := "passed"
			switch {
			case c.Failure != nil || c.Error != nil:
				how = "failed"
			case c.Skipped != nil:
				how = "skipped"
			}
			ended[c.Package+": "+c.Name] = how
		}
	}
	return ended
}
