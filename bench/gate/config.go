package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// The balancers' configurations are those of deploy, with other ports.
const (
	haproxyFile = "haproxy/runtime-api.cfg"
	polledFile  = "haproxy/health.cfg"
	nginxFile   = "nginx/nginx.conf"
	envoyFile   = "envoy/envoy.yaml"
)

// retryLine is what HAProxy tries again; the original way adds 503.
const retryLine = "retry-on conn-failure empty-response"

// pollLine is how often HAProxy polls in polledFile, and after how many answers it acts.
const pollLine = "check inter 10ms fastinter 10ms downinter 10ms rise 1 fall 1"

// envoyProgram returns the path of Envoy: that in PATH, or what .ci/setup installs.
func (d *driver) envoyProgram() string {
	for _, name := range []string{"envoy", filepath.Join(d.deploy, "../.bin/python/bin/envoy")} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return "envoy"
}

// editEnvoy adds what is changed in envoyFile.
func (d *driver) editEnvoy(kind string, edits map[string]string) error {
	for from, addr := range map[string]string{"8000": d.front, "8081": d.addrs[0], "8082": d.addrs[1]} {
		_, port, err := net.SplitHostPort(addr)
		if err != nil {
			return err
		}
		edits["port_value: "+from+" "] = "port_value: " + port + " "
	}
	switch kind {
	case envoyHeader:
		edits["interval: 0.010s #"], edits["no_traffic_interval: 0.010s\n"] = "interval: 0.500s #", "no_traffic_interval: 0.500s\n"
	case envoyDefaults:
		edits["common_lb_config:"] = "common_lb_config: {}"
		edits["update_merge_window: 0s"], edits["healthy_panic_threshold: { value: 1 }"] = "", ""
	}
	return nil
}

// config writes the configuration of a balancer, and returns the command line that runs it and
// what its environment has to hold.
func (d *driver) config(kind string) (argv, env []string, err error) {
	file, edits := haproxyFile, map[string]string{}
	switch kind {
	case envoyPolls, envoyHeader, envoyDefaults:
		file = envoyFile
		if err := d.editEnvoy(kind, edits); err != nil {
			return nil, nil, err
		}
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
	if file == envoyFile {
		name = filepath.Join(d.dir, "front.yaml") // Envoy goes by the name's end
	}
	switch file {
	case envoyFile:
		argv = []string{d.envoyProgram(), "-c", name, "--concurrency", "2", "--disable-hot-restart", "--log-level", "error"}
	case nginxFile:
		argv = []string{"nginx", "-p", d.dir, "-c", name, "-e", filepath.Join(d.dir, "error.log")}
		head := "daemon off;\npid nginx.pid;\n"
		if os.Geteuid() == 0 {
			head += "user root;\n" // the folder is root's alone
		}
		text = head + text
	default:
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
