// Package load has the flags, targets, limits and progress of commands that put load on a service.
package load

import (
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"evenkeel.dev"
	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/fetch"
	"evenkeel.dev/cmd/evenkeel/internal/observe"
	"evenkeel.dev/loadgen"
)

// Flags are the flags of load and run, named as hey's.
type Flags struct {
	options loadgen.Options

	method   string
	headers  cli.List
	body     string
	BodyFile string

	insecure bool
	Shape    shapeFlags
	Drawn    bool // the seed also orders variants

	Mix mixFlags

	Output string
}

const defaultRequests = 200

const defaultOpen = 1000 // connections, as in package loadgen

const maxBodyBytes = 1 << 30

// drain is the time after -z to send what was due.
const drain = time.Second

var Groups = []string{
	"Rate: warmup arrivals stages times seed",
	"Requests: m H d D t targets template",
	"Connections: http1 http2 streams disable-keepalive insecure",
}

func (l *Flags) Register(fs *flag.FlagSet) {
	o := &l.options
	o.Timeout = 20 * time.Second
	fs.Var((*cli.Whole)(&o.Requests), "n", "end after `N` requests (default 200 without -z)")
	fs.Var((*cli.Whole)(&o.Connections), "c", "use so many `connections` (default 50; with -rate at most 1000)")
	fs.Var((*cli.Period)(&o.Duration), "z", "end after this `duration`, such as 30s; a bare number is seconds")
	fs.Var((*cli.Decimal)(&o.Rate), "rate",
		"open loop: send so many `requests` per second, whatever the service does (default: closed loop)")
	fs.Var((*cli.Period)(&o.Warmup), "warmup", "load for this `duration` before measuring")
	fs.Var((*cli.Period)(&o.Timeout), "t", "`timeout` of one request")
	fs.StringVar(&l.method, "m", "", "HTTP `method` (default GET, or POST with a body)")
	fs.Var(&l.headers, "H", "send this `header`, such as 'Accept: text/html'; repeatable")
	fs.StringVar(&l.body, "d", "", "request `body`, as application/x-www-form-urlencoded unless -H says another "+
		"Content-Type")
	fs.StringVar(&l.BodyFile, "D", "", "`file` of the request body, - for standard input")
	l.Mix.register(fs)
	fs.BoolVar(&o.DisableKeepAlive, "disable-keepalive", false, "open a connection for each request")
	fs.BoolVar(&l.insecure, "insecure", false, "accept any TLS certificate")
	l.Shape.register(fs, o)
	fs.StringVar(&l.Output, "o", "", "write the runs to this JSON `file`; - writes them in place of the table")
}

var notZero = map[string]string{
	"z": "write how long to load, such as 10s, or leave it out",
	"t": "write how long a request may take, such as 5s, or leave it out for 20s",

	"seed":   "write a number from 1 on, or leave it out for a new one",
	"budget": "write how long -until may take, such as 5m, or leave it out for 10m",
}

// CheckGiven finds a flag that is 0 and must not be.
func CheckGiven(fs *flag.FlagSet) (err error) {
	fs.Visit(func(f *flag.Flag) {
		do, listed := notZero[f.Name]
		if value := f.Value.String(); listed && (value == "0" || value == "0s") && err == nil {
			err = fmt.Errorf("-%s 0: %s", f.Name, do)
		}
	})
	return err
}

func (l *Flags) Options(urls []string) (loadgen.Options, error) {
	o := l.options
	if o.Duration > 0 {
		o.Drain = drain
	}
	if l.insecure {
		o.TLS = &tls.Config{InsecureSkipVerify: true}
	}
	if err := l.Shape.apply(&o); err != nil {
		return o, err
	}
	h, err := l.header()
	if err != nil {
		return o, err
	}
	body, err := l.readBody()
	if err != nil {
		return o, err
	}
	switch {
	case l.Shape.Seed == 0:
	case l.Mix.template:
		l.Mix.seed = &l.Shape.Seed
	case o.Arrivals != loadgen.ArrivalsPoisson && !l.Drawn:
		return o, errors.New("-seed is for -arrivals poisson and -template, and for run's variants")
	}
	err = l.Mix.targets(&o, urls, loadgen.Target{Method: l.method, Header: h, Body: body})
	if o.Arrivals == loadgen.ArrivalsPoisson && l.Mix.seed != nil {
		o.Seed = *l.Mix.seed
	}
	return o, err
}

const ownDescriptors = 32

// Fit refuses connections beyond the descriptors, and lowers the default.
func Fit(o *loadgen.Options) error {
	limit, known := descriptorLimit()
	hosts := map[string]bool{}
	for i := range o.Targets {
		if u, err := url.Parse(o.Targets[i].URL); err == nil {
			hosts[u.Scheme+u.Host] = true
		}
	}
	if !known || len(hosts) == 0 {
		return nil
	}
	room := max(limit-ownDescriptors, 0) / len(hosts)
	switch {
	case o.Connections == 0 && o.Open():
		o.Connections = max(min(room, defaultOpen), 1)
		return nil
	case o.Connections <= room:
		return nil
	}
	needed := o.Connections*len(hosts) + ownDescriptors
	return fmt.Errorf("-c %d takes %d descriptors of %d; raise the limit with ulimit -n %d, or write -c %d",
		o.Connections, needed, limit, needed, max(room, 1))
}

// PProfAt completes -pprof. The default is on the first target's host.
func PProfAt(s string, first *url.URL) (string, error) {
	u := &url.URL{Scheme: first.Scheme, Host: first.Host}
	if s != "" {
		var err error
		if u, err = fetch.ParseURL(s); err != nil {
			return "", fmt.Errorf("-pprof %w", err)
		}
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = observe.PProfPath
	}
	return u.String(), nil
}

var flagOf = map[string]string{
	"Requests": "-n", "Connections": "-c", "Duration": "-z", "Rate": "-rate", "Warmup": "-warmup", "Timeout": "-t",
	"Streams": "-streams", "Arrivals": "-arrivals", "Stages": "-stages", "Times": "-times", "Protocol": "-http2",
	"DisableKeepAlive": "-disable-keepalive",
}

// FlagError names flags in an error of loadgen.
func FlagError(err error) error {
	oe, ok := errors.AsType[*evenkeel.OptionError](err)
	if !ok {
		return err
	}
	option, _, _ := strings.Cut(oe.Option, "[") // Stages[2]
	if name := flagOf[option]; name != "" {
		return fmt.Errorf("%s %s", name, oe.Reason)
	}
	return errors.New(oe.Reason)
}

func (l *Flags) header() (http.Header, error) {
	h := http.Header{}
	for _, s := range l.headers {
		k, v, ok := strings.Cut(s, ":")
		if !ok || strings.TrimSpace(k) == "" {
			return nil, fmt.Errorf("-H %q: write it as 'Name: value'", s)
		}
		h.Add(strings.TrimSpace(k), strings.TrimSpace(v))
	}
	return h, nil
}

func (l *Flags) readBody() ([]byte, error) {
	if l.BodyFile == "" {
		return []byte(l.body), nil
	}
	if l.body != "" {
		return nil, fmt.Errorf("-d and -D both give a body; leave one out")
	}
	in, _, err := cli.Open(l.BodyFile)
	if err != nil {
		return nil, fmt.Errorf("-D: %w", err)
	}
	defer in.Close()
	b, err := fetch.AtMost(in, maxBodyBytes)
	if err != nil {
		return nil, fmt.Errorf("-D %s: %w", l.BodyFile, err)
	}
	return b, nil
}
