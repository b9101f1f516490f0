package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/internal/golden"
)

func TestUsage(t *testing.T) {
	for _, tt := range []struct {
		args           string
		code           int
		stdout, stderr string
	}{
		{"", cli.ExitUsage, "", "evenkeel COMMAND -h"},
		{"help", cli.ExitOK, "Other commands:", ""},
		{"--help", cli.ExitOK, "Other commands:", ""},
		{"help load", cli.ExitOK, "open loop", ""},
		{"compare --help", cli.ExitOK, "-html", ""},
		{"gctrace -help", cli.ExitOK, "GODEBUG=gctrace=1", ""},
		{"plan", cli.ExitUsage, "", "no source; name a run.json"},
		{"plan a b", cli.ExitUsage, "", "2 sources; it reads one"},
		{"plan -n 0 a", cli.ExitUsage, "", "write a whole number from 1 on"},
		{"plan -k 2000000 a", cli.ExitUsage, "", "each may be 1000000 at most"},
		{"plan -memory 5 MiB a", cli.ExitUsage, "", "it reads one"},
		{"plan -memory x a", cli.ExitUsage, "", "write a size such as 900MiB"},
		{"plan -times 0 a", cli.ExitUsage, "", "write a number above 0"},
		{"plan -for 10ms a", cli.ExitUsage, "", "write at least 1s"},
		{"plan /no/such/file", cli.ExitFailed, "", "/no/such/file"},
		{"plan ftp://x/", cli.ExitFailed, "", "not an http or https URL"},
		{"watch", cli.ExitUsage, "", "no URL; name the status page"},
		{"watch -every 1ms x", cli.ExitUsage, "", "write at least 100ms"},
		{"watch http://", cli.ExitUsage, "", "not an http or https URL of a host"},
		{"demo now", cli.ExitUsage, "", `it reads nothing; leave out "now"`},
		{"demo -bin /no/such/folder", cli.ExitFailed, "", "build it with make demo"},
		{"version", cli.ExitOK, "evenkeel ", ""},
		{"version -json", cli.ExitOK, "\"cores\": ", ""},
		{"--version", cli.ExitOK, "evenkeel ", ""},
		{"help version", cli.ExitOK, "-json", ""},
		{"version now", cli.ExitUsage, "", `version: what is "now"?`},
		{"lode", cli.ExitUsage, "", `no command "lode"`},
		{"help lode", cli.ExitUsage, "", `no command "lode"`},

		{"load", cli.ExitUsage, "", "no URL"},
		{"load -n 5", cli.ExitUsage, "", "no URL"},
		{"load ftp://x/", cli.ExitUsage, "", "http://HOST:PORT/PATH"},
		{"load http://", cli.ExitUsage, "", "names no host"},
		{"load x:99999", cli.ExitUsage, "", "99999"},
		{"load -n -5 x", cli.ExitUsage, "", "-n: write a whole number from 1 on"},
		{"load -c -1 x", cli.ExitUsage, "", "-c: write a whole number from 1 on"},
		{"load -rate -1 x", cli.ExitUsage, "", "load: -rate -1"},
		{"load -rate NaN x", cli.ExitUsage, "", "load: -rate NaN"},
		{"load -rate Inf x", cli.ExitUsage, "", "load: -rate +Inf"},
		{"load -z -5s x", cli.ExitUsage, "", "500ms, 10s or 2m"},
		{"load -z 1000h x", cli.ExitUsage, "", "load: -z 1000h"},
		{"load -c 0 x", cli.ExitUsage, "", "-c: write a whole number from 1 on"},
		{"load -n 0 x", cli.ExitUsage, "", "-n: write a whole number from 1 on"},
		{"load -z 0 x", cli.ExitUsage, "", "load: -z 0: write how long"},
		{"load -t 0 x", cli.ExitUsage, "", "load: -t 0: write how long"},
		{"load -streams 0 x", cli.ExitUsage, "", "-streams: write a whole number from 1 on"},
		{"run -url x -c 0 -- y", cli.ExitUsage, "", "-c: write a whole number from 1 on"},
		{"load -seed 0 x", cli.ExitUsage, "", "load: -seed 0: write a number from 1 on, or leave it out for a new one"},
		{"load -arrivals poisson -rate 5 -seed 0 x", cli.ExitUsage, "", "load: -seed 0: write a number from 1 on"},
		{
			"run -url x -seed 0 -variant a: -variant b: -- y", cli.ExitUsage, "",
			"run: -seed 0: write a number from 1 on",
		},
		{"run -url x -budget 0 -- y", cli.ExitUsage, "", "run: -budget 0: write how long -until may take"},
		{
			"run -url x -until 10% -budget 0s -variant a: -variant b: -- y", cli.ExitUsage, "",
			"run: -budget 0: write how long -until may take",
		},
		{"load -n many x", cli.ExitUsage, "", "-n: write a whole number from 1 on, such as 20"},
		{"load -c 1.5 x", cli.ExitUsage, "", "-c: write a whole number"},
		{"load -rate fast x", cli.ExitUsage, "", "-rate: write a number, such as 2000 or 0.5"},
		{"load -H nonsense x", cli.ExitUsage, "", "'Name: value'"},
		{"load -H :nonsense x", cli.ExitUsage, "", "'Name: value'"},
		{"load -d a -D b x", cli.ExitUsage, "", "leave one out"},
		{"load -D /no/such/file x", cli.ExitUsage, "", "/no/such/file"},
		{"load -m CONNECT x", cli.ExitUsage, "", "CONNECT"},
		{
			"load -o /no/such/folder/run.json x", cli.ExitFailed, "",
			"cannot write /no/such/folder/run.json: no such file",
		},
		{"load -o / x", cli.ExitFailed, "", "it is a folder"},

		{"run", cli.ExitUsage, "", "no command"},
		{"run ./server", cli.ExitUsage, "", `"./server" is before --`},
		{"run -- ./server", cli.ExitUsage, "", "no URL"},
		{"run -url x -repeat 0 -- y", cli.ExitUsage, "", "-repeat: write a whole number from 1 on"},
		{"run -url x -repeat x -- y", cli.ExitUsage, "", "-repeat: write a whole number"},
		{"run -url x -ready ftp://x -- y", cli.ExitUsage, "", "-ready"},
		{"run -url x -ready http:// -- y", cli.ExitUsage, "", "-ready"},
		{"run -url x -pprof /debug/pprof -- y", cli.ExitUsage, "", "-pprof"},
		{"run -url x -variant nonsense -- y", cli.ExitUsage, "", "no label"},
		{"run -url x -variant a:b -variant a:c -- y", cli.ExitUsage, "", `two variants are called "a"`},
		{"run -url x -n -1 -- y", cli.ExitUsage, "", "-n: write a whole number from 1 on"},
		{"run -url x -html - -- y", cli.ExitUsage, "", "compare -html -"},
		{"run -url x -o /no/such/folder/run.json -- y", cli.ExitFailed, "", "cannot write"},
		{"run -url x -html /no/such/folder/page -- y", cli.ExitFailed, "", "cannot write"},

		{"run -url x -o no-such -html ./no-such -- y", cli.ExitFailed, "", "./no-such would be written twice"},
		{"run -url x -explain -pprof off -- y", cli.ExitUsage, "", "-pprof is off"},
		{"run -url x -explain -o - -- y", cli.ExitUsage, "", "-o - leaves it out"},

		{"explain", cli.ExitUsage, "", "no trace"},
		{"explain -perfetto x a b", cli.ExitUsage, "", "-perfetto is for one trace"},
		{"explain -demo a", cli.ExitUsage, "", "-demo has a trace of its own"},
		{"explain -demo -against a", cli.ExitUsage, "", "-demo has a trace of its own"},
		{"explain -against a", cli.ExitUsage, "", "no trace"},
		{"explain -against /no/such/file b", cli.ExitFailed, "", "/no/such/file"},
		{"explain -against [ b", cli.ExitUsage, "", "not a pattern of files"},
		{"explain -against a -fail-if gc.whatif>10% b", cli.ExitUsage, "", "no cause \"gc.whatif\""},
		{"explain -fail-if total>10% b", cli.ExitUsage, "", "name the old version's traces with -against"},
		{"explain -slowest 0 a", cli.ExitUsage, "", "-slowest: write a whole number from 1 on"},
		{"explain -slowest x a", cli.ExitUsage, "", "-slowest: write a whole number"},
		{"explain -slowest 1001 a", cli.ExitUsage, "", "at most 1000"},
		{"explain -fail-if gc a", cli.ExitUsage, "", "no > in it; write it as [BAND:]CAUSE"},
		{"explain -fail-if x>1% a", cli.ExitUsage, "", "there are unknown running assist"},
		{"explain -json -html - a", cli.ExitUsage, "", "give the page a file"},
		{"explain -html /no/such/folder/page a", cli.ExitFailed, "", "cannot write"},
		{"explain /", cli.ExitFailed, "", "/ is a folder; name a file"},
		{"explain /no/such/file", cli.ExitFailed, "", "/no/such/file"},
		{"explain 127.0.0.1:1", cli.ExitFailed, "", "http://127.0.0.1:1/debug/pprof/trace"},
		{"explain http:///debug/pprof/trace", cli.ExitFailed, "", "no URL of a trace"},
		{"explain http://x/debug/pprof/trace?seconds=0", cli.ExitFailed, "", "seconds=0"},

		{"top", cli.ExitUsage, "", "no URL; write those of all replicas' recorders"},
		{
			"top x:6060", cli.ExitUsage, "",
			"\"x:6060\" is no URL of a recorder; write it as http://HOST:PORT/debug/evenkeel/",
		},
		{"top http:///x", cli.ExitUsage, "", "no URL of a recorder"},
		{"top http://x http://x/debug/evenkeel/", cli.ExitUsage, "", "http://x/debug/evenkeel/ is there twice"},
		{"top -n 0 http://x", cli.ExitUsage, "", "-n: write a whole number from 1 on"},
		{"top -every 1ms http://x", cli.ExitUsage, "", "-every 1ms; it must be at least 100ms"},
		{"top -since never http://x", cli.ExitUsage, "", "500ms, 10s or 2m"},
		{"report", cli.ExitUsage, "", "no replica; write the URLs"},
		{"report /no/such/file", cli.ExitUsage, "", "\"/no/such/file\" is neither a file nor a URL of a recorder"},
		{"report -json -html - http://x", cli.ExitUsage, "", "give the page a file"},
		{"report -html /no/such/folder/page http://x", cli.ExitFailed, "", "cannot write"},
		{"report usage_test.go", cli.ExitFailed, "", "usage_test.go: history: not the file of a history"},

		{"compare", cli.ExitUsage, "", "no file"},
		{"compare -figures p98 x", cli.ExitUsage, "", `-figures: no figure "p98"; there are: requests, `},
		{"run -url x -figures p98 -- y", cli.ExitUsage, "", `-figures: no figure "p98"`},
		{"run -url x -until 10 -- y", cli.ExitUsage, "", "-until: write a share above 0%, such as 10%"},
		{"run -url x -until 10% -- y", cli.ExitUsage, "", "give each a -variant"},
		{"run -url x -until 10% -repeat 3 -variant a: -variant b: -- y", cli.ExitUsage, "", "exclude each other"},
		{"run -url x -until 10% -explain -variant a: -variant b: -- y", cli.ExitUsage, "", "exclude each other"},
		{"run -url x -budget 5m -- y", cli.ExitUsage, "", "say what for, such as -until 10%"},
		{"run -url x -base b -variant a: -- y", cli.ExitUsage, "", `-base "b" is no -variant's label`},
		{"run -url x -fail-if p99 -- y", cli.ExitUsage, "", "neither < nor > in it; write it as"},
		{"run -url x -repeat 9 -fail-if p99>+20% -- y", cli.ExitUsage, "", "give each a -variant"},
		{
			"run -url x -fail-if p99>+20% -variant a: -variant b: -- y", cli.ExitUsage, "",
			"write -repeat 10, or -until 10%",
		},
		{
			"run -url x -repeat 9 -fail-if p99>+20% -figures p50 -variant a: -variant b: -- y", cli.ExitUsage, "",
			"-fail-if is about p99, which -figures does not name",
		},
		{
			"run -url x -rate 200 -z 4s -repeat 9 -fail-if p99>+20% -variant a: -variant b: -- y", cli.ExitUsage, "",
			"p99 needs 1,000 requests a run, and this load sends 800; write -z 5s",
		},
		{
			"run -url x -rate 200 -z 4s -until 10% -fail-if p99>+20% -variant a: -variant b: -- y", cli.ExitUsage, "",
			"write -z 5s",
		},
		{
			"run -url x -rate 200 -z 5s -arrivals poisson -repeat 9 -fail-if p99>+20% -variant a: -variant b: -- y",
			cli.ExitUsage, "", "sends 874; write -z 6s",
		},
		{
			"run -url x -rate 200 -z 30s -n 500 -repeat 9 -fail-if p90>+20% -fail-if p99>+20% " +
				"-variant a: -variant b: -- y",
			cli.ExitUsage, "", "sends 500; write -n 1000",
		},
		{
			"run -url x -repeat 9 -fail-if p99.9>+20% -variant a: -variant b: -- y", cli.ExitUsage, "",
			"sends 200; write -n 10000",
		},
		{
			"run -url x -stages 10s:0-50 -repeat 9 -fail-if p99>+20% -variant a: -variant b: -- y", cli.ExitUsage, "",
			"sends 250; load for longer",
		},
		{
			"run -url x -rate 200 -z 9s -repeat 5 -fail-if p99>+20% -variant a: -variant b: -- y", cli.ExitUsage, "",
			"by fewer than 6 rounds of these variants; write -repeat 6",
		},
		{
			"run -url x -rate 200 -z 9s -until 9% -budget 90s -fail-if p99>+20% -variant a: -variant b: -- y",
			cli.ExitUsage, "", "one takes 18s at least; write -budget ",
		},
		{"load -wrong http://x/", cli.ExitUsage, "", "not defined: -wrong\nevenkeel load -h tells more"},
		{"compare -duration=30s x", cli.ExitUsage, "", "not defined: -duration\n"},
		{
			"compare -fail-if p99>+20% -figures p50 x", cli.ExitUsage, "",
			"-fail-if is about p99, which -figures does not name",
		},
		{"compare -fail-if p99 x", cli.ExitUsage, "", "neither < nor > in it; write it as"},
		{"compare -json -markdown x", cli.ExitUsage, "", "each write to standard output"},
		{"compare -json -html - x", cli.ExitUsage, "", "each write to standard output"},
		{"compare /no/such/file", cli.ExitFailed, "", "/no/such/file"},
		{"gctrace a b", cli.ExitUsage, "", "it reads one"},
		{"gctrace /no/such/file", cli.ExitFailed, "", "/no/such/file"},
		{"gctrace /", cli.ExitFailed, "", "is a folder"},
	} {
		t.Run(tt.args, func(t *testing.T) {
			r := call(strings.Fields(tt.args)...)
			r.check(t, tt.code, []string{tt.stdout}, []string{tt.stderr})
			if tt.stdout == "" && r.stdout != "" || tt.stderr == "" && r.stderr != "" {
				t.Errorf("too much said:\n%s\n%s", r.stdout, r.stderr)
			}
			if tt.code != cli.ExitOK && len(tt.args) > 0 && !strings.Contains(r.stderr, "evenkeel") {
				t.Errorf("%q does not say who says it", r.stderr)
			}
		})
	}
}

// TestHelp keeps what -h says of each command, its width, and one way of writing flags.
func TestHelp(t *testing.T) {
	golden.Written(t, "help.golden.txt", func(b *bytes.Buffer) error {
		b.WriteString(call("-h").stdout)
		for _, c := range subcommands {
			fmt.Fprintf(b, "\n$ evenkeel %s -h\n%s", c.name, call(c.name, "-h").stdout)
		}
		for line := range strings.Lines(b.String()) {
			i := strings.Index(line, " --")
			if utf8.RuneCountInString(line) > 101 || i >= 0 && i+3 < len(line) && line[i+3] >= 'a' && line[i+3] <= 'z' {
				t.Errorf("%q", line)
			}
		}
		return nil
	})
}

// TestOutputIsNoInput does not write over what is read, as where the name of a result was left out.
func TestOutputIsNoInput(t *testing.T) {
	t.Parallel()
	const text = "the user's own"
	name := logFile(t, text)
	link := filepath.Join(filepath.Dir(name), "link")
	if err := os.Symlink(name, link); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
	for _, args := range []string{
		"compare -html FILE FILE", "compare -html LINK FILE", "compare -html FILE -events LINK /no/such",
		"explain -html FILE FILE",
		"load -D FILE -o LINK x", "run -url x -D FILE -o FILE -- y",
	} {
		r := call(strings.Fields(strings.NewReplacer("FILE", name, "LINK", link).Replace(args))...)
		r.check(t, cli.ExitFailed, nil, []string{" is read, and would be written over: name another file for the " +
			"result"})
	}
	if b, err := os.ReadFile(name); err != nil || string(b) != text {
		t.Errorf("it has %q, %v", b, err)
	}
}

// TestOutputIsNoInputOfALoad: nor over any of the files that a load is made of.
func TestOutputIsNoInputOfALoad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	texts := map[string]string{
		"times": "0\n1ms\n", "body": "the user's own", "lines": "a\nb\n",
	}
	for name, text := range texts {
		writeIn(t, dir, name, text)
	}
	writeIn(t, dir, "text", "/a\n@"+filepath.Join(dir, "body")+"\n")
	writeIn(t, dir, "template", fmt.Sprintf("/{{line %q}}\n", filepath.Join(dir, "lines")))
	for _, tt := range []struct{ args, name string }{
		{"-n 3 -times DIR/times -o DIR/times", "times"},
		{"-n 3 -times DIR/times -html DIR/times", "times"},
		{"-n 3 -targets DIR/text -o DIR/body", "body"},
		{"-n 3 -template -targets DIR/template -o DIR/lines", "lines"},
	} {
		for _, command := range []string{
			"load " + tt.args + " " + gone,
			"run -url " + gone + " " + tt.args + " -- /no/such/server",
		} {
			r := call(strings.Fields(strings.ReplaceAll(command, "DIR/", dir+string(filepath.Separator)))...)
			r.check(t, cli.ExitFailed, nil, []string{filepath.Join(dir, tt.name) +
				" is read, and would be written over: name another file for the result"})
		}
	}
	for name, text := range texts {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(b) != text {
			t.Errorf("%s has %q, %v", name, b, err)
		}
	}
}

// TestOutputsDiffer, under whatever names, when none of them is there yet.
func TestOutputsDiffer(t *testing.T) {
	t.Parallel()
	whole, err := filepath.Abs("no-such")
	if err != nil {
		t.Fatal(err)
	}
	for _, names := range [][2]string{{"no-such", whole}, {whole, filepath.Join(".", "no-such")}} {
		r := call("run", "-url", gone, "-o", names[0], "-html", names[1], "--", "/no/such/server")
		r.check(t, cli.ExitFailed, nil, []string{names[1] +
			" would be written twice: give each result a file of its own"})
	}
}
