package main

import (
	"flag"
	"fmt"
	"regexp"
	"time"
)

// foreignFlags are flags of hey, wrk and vegeta that evenkeel does not have, and what to write instead.
var foreignFlags = map[string]string{
	"q":  "hey's -q is a rate for each worker; -rate is that of all together",
	"A":  "write -H 'Accept: TYPE'",
	"U":  "write -H 'User-Agent: NAME'",
	"h2": "write -http2",
	"x":  "there are no proxies here: name the service's own address",

	"disable-compression": "answers are never asked for compressed: leave it out",
	"disable-redirects":   "redirects are not followed: leave it out",
	"cpus":                "set GOMAXPROCS in the environment",

	"L":        "percentiles are always shown: leave it out",
	"latency":  "percentiles are always shown: leave it out",
	"R":        "write -rate",
	"s":        "there are no scripts here: -targets has several requests, -template different ones",
	"script":   "there are no scripts here: -targets has several requests, -template different ones",
	"threads":  "evenkeel uses the processors there are: leave it out",
	"timeout":  "write -t",
	"duration": "write -z",

	"connections":     "write -c",
	"max-connections": "write -c",
	"workers":         "write -c",
	"max-workers":     "write -c",
	"header":          "write -H",
	"body":            "write -D FILE, or -d TEXT",
	"h2c":             "write -http2",
	"keepalive":       "connections are kept; -disable-keepalive opens one for each request",
	"output":          "write -o FILE",
	"name":            "write -label",
}

var (
	undefinedFlag = regexp.MustCompile(`^flag provided but not defined: -+(\S+)$`)
	gluedFlag     = regexp.MustCompile(`^([a-zA-Z])(\d\S*)$`)
)

// flagHint says what to write instead of a flag that is not defined; "" if nobody knows.
func flagHint(fs *flag.FlagSet, err error) string {
	m := undefinedFlag.FindStringSubmatch(err.Error())
	if m == nil || fs.Lookup("rate") == nil || fs.Lookup("z") == nil {
		return "" // another command than load and run
	}
	if do, ok := foreignFlags[m[1]]; ok {
		return "; " + do
	}
	if glued := gluedFlag.FindStringSubmatch(m[1]); glued != nil && fs.Lookup(glued[1]) != nil {
		return fmt.Sprintf("; write a space between: -%s %s", glued[1], glued[2])
	}
	return ""
}

// hints say where a flag of load and run means another thing than in hey, wrk or vegeta, and was probably meant as there.
func (l *loadFlags) hints(fs *flag.FlagSet) (list []string) {
	if _, err := time.ParseDuration(l.body); err == nil {
		list = append(list, fmt.Sprintf("-d %s is the body of each request; -z %s loads for so long, as wrk's -d does", l.body, l.body))
		if given(fs, "t") {
			list = append(list, fmt.Sprintf("-t %v is the timeout of one request; wrk's -t is not needed here", time.Duration(l.timeout)))
		}
	}
	if l.fewer > 0 {
		list = append(list, fmt.Sprintf("at most %d connections, and not %d: this process may have no more descriptors; ulimit -n raises the limit", l.fewer, defaultOpen))
	}
	if l.output == "csv" {
		list = append(list, "-o csv writes a run to a file named csv; evenkeel convert -to csv makes CSV of a run")
	}
	return list
}

// sayHints writes them to standard error.
func (a *app) sayHints(fs *flag.FlagSet, list []string) {
	for _, h := range list {
		fmt.Fprintf(a.stderr, "evenkeel %s: %s\n", fs.Name(), h)
	}
}
