package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
)

// The balancers' configurations are those of deploy, with other ports.
const (
	haproxyFile = "haproxy/runtime-api.cfg"
	polledFile  = "haproxy/health.cfg"
	nginxFile   = "nginx/nginx.conf"
)

// retryLine is what HAProxy tries again; the original way adds 503.
const retryLine = "retry-on conn-failure empty-response"

// pollLine is how often HAProxy polls in polledFile, and after how many answers it acts.
const pollLine = "check inter 10ms fastinter 10ms downinter 10ms rise 1 fall 1"

// config writes the configuration of a balancer, and returns the command line that runs it and
// what its environment has to hold.
func (d *driver) config(kind string) (argv, env []string, err error) {
	file, edits := haproxyFile, map[string]string{}
	switch kind {
	case haproxyRetry:
		edits[retryLine] = retryLine + " 503"
	case haproxyPolls:
		p := d.polling
		file, edits[pollLine] = polledFile, fmt.Sprintf("check inter %v fastinter %[1]v downinter %[1]v rise %d fall %d", p.every, p.rise, p.fall)
	case nginx:
		file = nginxFile
		const quiet = "access_log off;"
		edits[quiet] = quiet
		for _, of := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
			edits[quiet] += " " + of + "_temp_path " + d.dir + ";"
		}
		edits["127.0.0.1:8000"], edits["127.0.0.1:8081"], edits["127.0.0.1:8082"] = d.front, d.addrs[0], d.addrs[1]
	}
	b, err := os.ReadFile(filepath.Join(d.deploy, file))
	if err != nil {
		return nil, nil, fmt.Errorf("%w; name the folder of balancer configurations with -deploy", err)
	}
	text := string(b)
	for from, to := range edits {
		if !strings.Contains(text, from) {
			return nil, nil, fmt.Errorf("%s has no %q to change", filepath.Join(d.deploy, file), from)
		}
		text = strings.ReplaceAll(text, from, to)
	}
	name := filepath.Join(d.dir, "front.cfg")
	if kind == nginx {
		argv = []string{"nginx", "-p", d.dir, "-c", name, "-e", filepath.Join(d.dir, "error.log")}
		head := "daemon off;\npid nginx.pid;\n"
		if os.Geteuid() == 0 {
			head += "user root;\n" // the folder is root's alone
		}
		text = head + text
	} else {
		argv = []string{"haproxy", "-W", "-f", name}
		for variable, addr := range map[string]string{"LISTEN_PORT": d.front, "ADMIN_PORT": d.socket, "A_PORT": d.addrs[0], "B_PORT": d.addrs[1]} {
			_, port, err := net.SplitHostPort(addr)
			if err != nil {
				return nil, nil, err
			}
			env = append(env, variable+"="+port)
		}
	}
	return argv, env, os.WriteFile(name, []byte(text), 0o600)
}
