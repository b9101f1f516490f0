package cli

import (
	"flag"
	"fmt"
	"regexp"
)

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

// flagHint says what to write instead of an undefined flag, or "".
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
