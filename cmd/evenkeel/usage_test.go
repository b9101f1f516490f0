package main

import (
	"encoding/pem"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestUsage(t *testing.T) {
	for _, tt := range []struct {
		args           string
		code           int
		stdout, stderr string
	}{
		{"", exitUsage, "", "evenkeel COMMAND -h"},
		{"-h", exitOK, "evenkeel gctrace", ""},
		{"--help", exitOK, "evenkeel run", ""},
		{"help", exitOK, "evenkeel load", ""},
		{"help load", exitOK, "open loop", ""},
		{"load -h", exitOK, "-rate requests", ""},
		{"run -h", exitOK, "-stop-timeout", ""},
		{"explain -h", exitOK, "-fail-if", ""},
		{"compare --help", exitOK, "-html", ""},
		{"top -h", exitOK, "/debug/evenkeel/", ""},
		{"report -h", exitOK, "history.log", ""},
		{"gctrace -help", exitOK, "GODEBUG=gctrace=1", ""},
		{"plan -h", exitOK, "httpgate.Status", ""},
		{"plan", exitUsage, "", "no source; name a run.json"},
		{"plan a b", exitUsage, "", "2 sources; it reads one"},
		{"plan -n 0 a", exitUsage, "", "write how many replicas there are"},
		{"plan -k -1 a", exitUsage, "", "write how many may collect at once"},
		{"plan -memory 5 MiB a", exitUsage, "", "it reads one"},
		{"plan -memory x a", exitUsage, "", "write a size such as 900MiB"},
		{"plan -times 0 a", exitUsage, "", "write a number above 0"},
		{"plan -rate -5 a", exitUsage, "", "write requests a second"},
		{"plan -rate 5 -times 2 a", exitUsage, "", "leave one out"},
		{"plan -for 10ms a", exitUsage, "", "write at least 1s"},
		{"plan /no/such/file", exitFailed, "", "/no/such/file"},
		{"plan ftp://x/", exitFailed, "", "begins with http://"},
		{"watch -h", exitOK, "-haproxy", ""},
		{"watch", exitUsage, "", "no URL; name the status page"},
		{"watch -every 1ms x", exitUsage, "", "write at least 100ms"},
		{"watch http://", exitUsage, "", "names no host"},
		{"watch -haproxy 127.0.0.1:9199 x", exitUsage, "", "write ADDR,BACKEND"},
		{"watch -haproxy nowhere,be x", exitUsage, "", "is no address"},
		{"demo -h", exitOK, "-quick", ""},
		{"demo now", exitUsage, "", `it reads nothing; leave out "now"`},
		{"demo -record x", exitFailed, "", "not of a clean commit"},
		{"demo -bin /no/such/folder", exitFailed, "", "build it with make demo"},
		{"version", exitOK, "evenkeel ", ""},
		{"version -json", exitOK, "\"cores\": ", ""},
		{"--version", exitOK, "evenkeel ", ""},
		{"help version", exitOK, "-json", ""},
		{"version now", exitUsage, "", `version: what is "now"?`},
		{"lode", exitUsage, "", `no command "lode"`},
		{"help lode", exitUsage, "", `no command "lode"`},

		{"load", exitUsage, "", "no URL"},
		{"load -n 5", exitUsage, "", "no URL"},
		{"load ftp://x/", exitUsage, "", "http://HOST:PORT/PATH"},
		{"load http://", exitUsage, "", "names no host"},
		{"load x:99999", exitUsage, "", "99999"},
		{"load -n -5 x", exitUsage, "", "load: -n -5; it must be positive"},
		{"load -c -1 x", exitUsage, "", "load: -c -1"},
		{"load -rate -1 x", exitUsage, "", "load: -rate -1"},
		{"load -rate NaN x", exitUsage, "", "load: -rate NaN"},
		{"load -rate Inf x", exitUsage, "", "load: -rate +Inf"},
		{"load -z -5s x", exitUsage, "", "500ms, 10s or 2m"},
		{"load -z 1000h x", exitUsage, "", "load: -z 1000h"},
		{"load -c 0 x", exitUsage, "", "load: -c 0: write 1 or more, or leave it out for 50 (with -rate 1000)"},
		{"load -n 0 x", exitUsage, "", "load: -n 0: end after 1 request or more"},
		{"load -z 0 x", exitUsage, "", "load: -z 0: write how long"},
		{"load -t 0 x", exitUsage, "", "load: -t 0: write how long"},
		{"load -streams 0 x", exitUsage, "", "load: -streams 0: write 1 or more"},
		{"run -url x -c 0 -- y", exitUsage, "", "run: -c 0: write 1 or more"},
		{"load -seed 0 x", exitUsage, "", "load: -seed 0: write a number from 1 on, or leave it out for a new one"},
		{"load -arrivals poisson -rate 5 -seed 0 x", exitUsage, "", "load: -seed 0: write a number from 1 on"},
		{"run -url x -seed 0 -variant a: -variant b: -- y", exitUsage, "", "run: -seed 0: write a number from 1 on"},
		{"load -template -distinct 0 x", exitUsage, "", "load: -distinct 0: write 1 or more, or leave it out"},
		{"run -url x -template -distinct 0 -- y", exitUsage, "", "run: -distinct 0: write 1 or more"},
		{"run -url x -budget 0 -- y", exitUsage, "", "run: -budget 0: write how long -until may take"},
		{"run -url x -until 10% -budget 0s -variant a: -variant b: -- y", exitUsage, "", "run: -budget 0: write how long -until may take"},
		{"load -n many x", exitUsage, "", "-n: write a whole number, such as 20"},
		{"load -c 1.5 x", exitUsage, "", "-c: write a whole number"},
		{"load -rate fast x", exitUsage, "", "-rate: write a number, such as 2000 or 0.5"},
		{"load -H nonsense x", exitUsage, "", "'Name: value'"},
		{"load -H :nonsense x", exitUsage, "", "'Name: value'"},
		{"load -a nonsense x", exitUsage, "", "user:password"},
		{"load -d a -D b x", exitUsage, "", "leave one out"},
		{"load -D /no/such/file x", exitUsage, "", "/no/such/file"},
		{"load -m CONNECT x", exitUsage, "", "CONNECT"},
		{"load -o /no/such/folder/run.json x", exitFailed, "", "cannot write /no/such/folder/run.json: no such file"},
		{"load -o / x", exitFailed, "", "it is a folder"},

		{"run", exitUsage, "", "no command"},
		{"run ./server", exitUsage, "", `"./server" stands before --`},
		{"run -- ./server", exitUsage, "", "no URL"},
		{"run -url x -repeat 0 -- y", exitUsage, "", "-repeat must be at least 1"},
		{"run -url x -repeat x -- y", exitUsage, "", "-repeat: write a whole number"},
		{"run -url x -ready ftp://x -- y", exitUsage, "", "-ready"},
		{"run -url x -ready http:// -- y", exitUsage, "", "-ready"},
		{"run -url x -pprof /debug/pprof -- y", exitUsage, "", "-pprof"},
		{"run -url x -variant nonsense -- y", exitUsage, "", "no label"},
		{"run -url x -variant a:b -variant a:c -- y", exitUsage, "", `two variants are called "a"`},
		{"run -url x -n -1 -- y", exitUsage, "", "run: -n -1"},
		{"run -url x -html - -- y", exitUsage, "", "compare -html -"},
		{"run -url x -o /no/such/folder/run.json -- y", exitFailed, "", "cannot write"},
		{"run -url x -html /no/such/folder/page -- y", exitFailed, "", "cannot write"},

		{"run -url x -o no-such -html ./no-such -- y", exitFailed, "", "./no-such is to be written twice"},
		{"run -url x -html no-such -explain-html no-such -- y", exitFailed, "", "no-such is to be written twice"},

		{"run -url x -explain -pprof off -- y", exitUsage, "", "-pprof is off"},
		{"run -url x -explain -o - -- y", exitUsage, "", "-o - leaves it out"},
		{"run -url x -explain-html - -- y", exitUsage, "", "give the page a file"},
		{"run -url x -explain-html p -variant a: -variant b: -variant c: -- y", exitUsage, "", "between two"},
		{"run -url x -explain-html /no/such/folder/page -- y", exitFailed, "", "cannot write"},

		{"explain", exitUsage, "", "no trace"},
		{"explain a b", exitUsage, "", "it reads one"},
		{"explain -demo a", exitUsage, "", "-demo has a trace of its own"},
		{"explain -demo -against a", exitUsage, "", "-demo has a trace of its own"},
		{"explain -against a", exitUsage, "", "no trace"},
		{"explain -against /no/such/file b", exitFailed, "", "/no/such/file"},
		{"explain -against [ b", exitUsage, "", "no pattern of files"},
		{"explain -against a -fail-if gc.whatif>10% b", exitUsage, "", "no cause \"gc.whatif\""},
		{"explain -fail-if total>10% b", exitUsage, "", "name the old version's traces with -against"},
		{"explain -slowest 0 a", exitUsage, "", "from 1 to 1000"},
		{"explain -slowest x a", exitUsage, "", "-slowest: write a whole number"},
		{"explain -slowest 1001 a", exitUsage, "", "from 1 to 1000"},
		{"explain -fail-if gc a", exitUsage, "", "no > in it; write it as [BAND:]CAUSE"},
		{"explain -fail-if x>1% a", exitUsage, "", "there are assist assist-wait"},
		{"explain -json -html - a", exitUsage, "", "give the page a file"},
		{"explain -html /no/such/folder/page a", exitFailed, "", "cannot write"},
		{"explain /", exitFailed, "", "/ is a folder; name the file of a trace"},
		{"explain /no/such/file", exitFailed, "", "/no/such/file"},
		{"explain 127.0.0.1:1", exitFailed, "", "http://127.0.0.1:1/debug/pprof/trace"},
		{"explain http:///debug/pprof/trace", exitFailed, "", "no URL of a trace"},
		{"explain http://x/debug/pprof/trace?seconds=0", exitFailed, "", "seconds=0"},

		{"top", exitUsage, "", "no URL; write those of all replicas' recorders"},
		{"top x:6060", exitUsage, "", "\"x:6060\" is no URL of a recorder; write it as http://HOST:PORT/debug/evenkeel/"},
		{"top http:///x", exitUsage, "", "no URL of a recorder"},
		{"top http://x http://x/debug/evenkeel/", exitUsage, "", "http://x/debug/evenkeel/ is there twice"},
		{"top -n 0 http://x", exitUsage, "", "-n 0; it must be at least 1"},
		{"top -every 1ms http://x", exitUsage, "", "-every 1ms; it must be at least 100ms"},
		{"top -since never http://x", exitUsage, "", "500ms, 10s or 2m"},
		{"report", exitUsage, "", "no replica; write the URLs"},
		{"report /no/such/file", exitUsage, "", "\"/no/such/file\" is neither a file nor a URL of a recorder"},
		{"report -json -html - http://x", exitUsage, "", "give the page a file"},
		{"report -html /no/such/folder/page http://x", exitFailed, "", "cannot write"},
		{"report usage_test.go", exitFailed, "", "usage_test.go: history: no file of a history"},

		{"compare", exitUsage, "", "no file"},
		{"compare -figures p98 x", exitUsage, "", `-figures: no figure "p98"; there are: requests, `},
		{"run -url x -figures p98 -- y", exitUsage, "", `-figures: no figure "p98"`},
		{"run -url x -until 10 -- y", exitUsage, "", "-until: write a share above 0%, such as 10%"},
		{"run -url x -until 10% -- y", exitUsage, "", "give each a -variant"},
		{"run -url x -until 10% -repeat 3 -variant a: -variant b: -- y", exitUsage, "", "choose one"},
		{"run -url x -until 10% -until-figure p98 -variant a: -variant b: -- y", exitUsage, "", `-until-figure: no figure "p98"`},
		{"run -url x -until 10% -until-figure p50 -figures p99 -variant a: -variant b: -- y", exitUsage, "", "p50 is not among -figures"},
		{"run -url x -until 10% -explain -variant a: -variant b: -- y", exitUsage, "", "run it with -repeat"},
		{"run -url x -aa -repeat 1 -- y", exitUsage, "", "-repeat must be at least 2"},
		{"run -url x -budget 5m -- y", exitUsage, "", "say what for, such as -until 10%"},
		{"run -url x -until-figure p50 -- y", exitUsage, "", "say how well it is to be known"},
		{"run -url x -base b -variant a: -- y", exitUsage, "", `-base "b" is no -variant's label`},
		{"run -url x -fail-if p99 -- y", exitUsage, "", "neither < nor > in it; write it as"},
		{"run -url x -repeat 9 -fail-if p99>+20% -- y", exitUsage, "", "give each a -variant"},
		{"run -url x -fail-if p99>+20% -variant a: -variant b: -- y", exitUsage, "", "write -repeat 10, or -until 10%"},
		{"run -url x -repeat 9 -fail-if p99>+20% -figures p50 -variant a: -variant b: -- y", exitUsage, "", "-fail-if is about p99, which -figures does not name"},
		{"run -url x -rate 200 -z 4s -repeat 9 -fail-if p99>+20% -variant a: -variant b: -- y", exitUsage, "", "p99 needs 1,000 requests a run, and this load sends 800; write -z 5s"},
		{"run -url x -rate 200 -z 4s -until 10% -fail-if p99>+20% -variant a: -variant b: -- y", exitUsage, "", "write -z 5s"},
		{"run -url x -rate 200 -z 5s -arrivals poisson -repeat 9 -fail-if p99>+20% -variant a: -variant b: -- y", exitUsage, "", "sends 874; write -z 6s"},
		{"run -url x -rate 200 -z 30s -n 500 -repeat 9 -fail-if p90>+20% -fail-if p99>+20% -variant a: -variant b: -- y", exitUsage, "", "sends 500; write -n 1000"},
		{"run -url x -repeat 9 -fail-if p99.9>+20% -variant a: -variant b: -- y", exitUsage, "", "sends 200; write -n 10000"},
		{"run -url x -stages 10s:0-50 -repeat 9 -fail-if p99>+20% -variant a: -variant b: -- y", exitUsage, "", "sends 250; load for longer"},
		{"run -url x -rate 200 -z 9s -repeat 5 -fail-if p99>+20% -variant a: -variant b: -- y", exitUsage, "", "by fewer than 6 rounds of these variants; write -repeat 6"},
		{"run -url x -rate 200 -z 9s -until 9% -budget 90s -fail-if p99>+20% -variant a: -variant b: -- y", exitUsage, "", "one takes 18s at least; write -budget "},
		{"load -q 10 http://x/", exitUsage, "", "not defined: -q; hey's -q is a rate for each worker; -rate is that of all together"},
		{"load -h2 http://x/", exitUsage, "", "write -http2"},
		{"load --latency http://x/", exitUsage, "", "percentiles are always shown"},
		{"load -t4 -c100 -d30s http://x/", exitUsage, "", "write a space between: -t 4"},
		{"run -duration=30s -- x", exitUsage, "", "write -z"},
		{"load -wrong http://x/", exitUsage, "", "not defined: -wrong\nevenkeel load -h tells more"},
		{"compare -duration=30s x", exitUsage, "", "not defined: -duration\n"},
		{"compare -fail-if p99>+20% -figures p50 x", exitUsage, "", "-fail-if is about p99, which -figures does not name"},
		{"compare -fail-if p99 x", exitUsage, "", "neither < nor > in it; write it as"},
		{"compare -json -markdown x", exitUsage, "", "each write to standard output"},
		{"compare -json -html - x", exitUsage, "", "each write to standard output"},
		{"compare /no/such/file", exitFailed, "", "/no/such/file"},
		{"gctrace a b", exitUsage, "", "it reads one"},
		{"gctrace /no/such/file", exitFailed, "", "/no/such/file"},
		{"gctrace /", exitFailed, "", "directory"},
	} {
		t.Run(tt.args, func(t *testing.T) {
			r := call(strings.Fields(tt.args)...)
			r.check(t, tt.code, []string{tt.stdout}, []string{tt.stderr})
			if tt.stdout == "" && r.stdout != "" || tt.stderr == "" && r.stderr != "" {
				t.Errorf("too much said:\n%s\n%s", r.stdout, r.stderr)
			}
			if tt.code != exitOK && len(tt.args) > 0 && !strings.Contains(r.stderr, "evenkeel") {
				t.Errorf("%q does not say who says it", r.stderr)
			}
		})
	}
}

// TestHelpHasOneDash keeps the documentation to one way of writing flags.
func TestHelpHasOneDash(t *testing.T) {
	for _, c := range subcommands {
		help := call(c.name, "-h").stdout
		for line := range strings.Lines(help) {
			if i := strings.Index(line, " --"); i >= 0 && i+3 < len(line) && line[i+3] >= 'a' && line[i+3] <= 'z' {
				t.Errorf("%s -h: %q", c.name, line)
			}
		}
	}
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
		"compare -html FILE FILE", "compare -html LINK FILE", "compare -html FILE -events LINK /no/such", "explain -html FILE FILE",
		"load -D FILE -o LINK x", "run -url x -D FILE -o FILE -- y",
	} {
		r := call(strings.Fields(strings.NewReplacer("FILE", name, "LINK", link).Replace(args))...)
		r.check(t, exitFailed, nil, []string{" is read, and would be written over: name another file for the result"})
	}
	if b, err := os.ReadFile(name); err != nil || string(b) != text {
		t.Errorf("it has %q, %v", b, err)
	}
}

// TestOutputIsNoInputOfALoad: nor over any of the files that a load is made of.
func TestOutputIsNoInputOfALoad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tls := httptest.NewTLSServer(nil)
	defer tls.Close()
	texts := map[string]string{
		"times": "0\n1ms\n", "ca": string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: tls.Certificate().Raw})),
		"body": "the user's own", "lines": "a\nb\n",
	}
	for name, text := range texts {
		writeIn(t, dir, name, text)
	}
	writeIn(t, dir, "text", "/a\n@"+filepath.Join(dir, "body")+"\n")
	writeIn(t, dir, "json", fmt.Sprintf(`{"url": "/a", "body_file": %q}`, filepath.Join(dir, "body")))
	writeIn(t, dir, "template", fmt.Sprintf("/{{line %q}}\n", filepath.Join(dir, "lines")))
	for _, tt := range []struct{ args, name string }{
		{"-n 3 -times DIR/times -o DIR/times", "times"},
		{"-n 3 -times DIR/times -html DIR/times", "times"},
		{"-n 3 -cacert DIR/ca -o DIR/ca", "ca"},
		{"-n 3 -targets DIR/text -o DIR/body", "body"},
		{"-n 3 -targets DIR/json -o DIR/body", "body"},
		{"-n 3 -template -targets DIR/template -o DIR/lines", "lines"},
	} {
		for _, command := range []string{"load " + tt.args + " " + gone, "run -url " + gone + " " + tt.args + " -- /no/such/server"} {
			r := call(strings.Fields(strings.ReplaceAll(command, "DIR/", dir+string(filepath.Separator)))...)
			r.check(t, exitFailed, nil, []string{filepath.Join(dir, tt.name) + " is read, and would be written over: name another file for the result"})
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
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("folder", link); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
	whole, err := filepath.Abs("no-such")
	if err != nil {
		t.Fatal(err)
	}
	for _, names := range [][2]string{
		{"no-such", whole},
		{whole, filepath.Join(".", "no-such")},
		{filepath.Join(dir, "folder", "out"), filepath.Join(link, "out")},
	} {
		r := call("run", "-url", gone, "-o", names[0], "-html", names[1], "--", "/no/such/server")
		r.check(t, exitFailed, nil, []string{names[1] + " is to be written twice: give each result a file of its own"})
	}
	r := call("run", "-url", gone, "-o", filepath.Join(dir, "out"), "-html", filepath.Join(link, "out"), "--", "/no/such/server")
	r.check(t, exitFailed, nil, []string{"/no/such/server"})
}
