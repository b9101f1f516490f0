//go:build linux

package gate

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"evenkeel.dev/bench/harness"
)

// The balancers, by their configurations in deploy.
const (
	haproxy      = "haproxy/runtime-api.cfg"
	haproxyPolls = "haproxy/health.cfg"

	envoy         = "envoy/envoy.yaml"
	envoyHeader   = envoy + ", by the answers' headers"
	envoyDefaults = envoy + ", its own settings for hosts"
)

var envoyEdits = map[string][][2]string{
	envoyHeader: {
		{"interval: 0.010s #", "interval: 0.500s #"},
		{"no_traffic_interval: 0.010s\n", "no_traffic_interval: 0.500s\n"},
	},
	envoyDefaults: {
		{"common_lb_config:", "common_lb_config: {}"},
		{"update_merge_window: 0s", ""},
		{"healthy_panic_threshold: { value: 1 }", ""},
	},
}

// startFront starts the way's balancer, and waits until it listens.
func (s *system) startFront(ctx context.Context) (*harness.Child, error) {
	command := s.haproxyCommand
	if strings.HasPrefix(s.way.front, envoy) {
		command = s.envoyCommand
	}
	argv, env, err := command()
	if err != nil {
		return nil, err
	}
	c, err := s.Start(ctx, harness.AnyCore, env, argv...)
	if err != nil {
		return nil, err
	}
	c.Drain()
	if err := c.Listens(ctx, s.listen); err != nil {
		c.Stop()
		_, complaint := c.Output()
		return nil, fmt.Errorf("%s: %w\n%s", s.way.front, err, complaint)
	}
	return c, nil
}

func installed(how string, names ...string) (path string, err error) {
	for _, name := range names {
		if path, err = exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", harness.NotHere(fmt.Errorf("%w; %s", err, how))
}

func deploy(name string) string { return filepath.Join(harness.Root(), "deploy", name) }

func (s *system) haproxyCommand() (argv, env []string, err error) {
	program, err := installed("sudo apt-get install haproxy", "haproxy", "/usr/sbin/haproxy")
	if err != nil {
		return nil, nil, err
	}
	for variable, addr := range map[string]string{
		"LISTEN_PORT": s.listen, "ADMIN_PORT": s.admin, "A_PORT": s.addrs[0], "B_PORT": s.addrs[1],
	} {
		env = append(env, variable+"="+port(addr))
	}
	return []string{program, "-W", "-f", deploy(s.way.front)}, env, nil
}

func port(addr string) string {
	_, port, _ := net.SplitHostPort(addr) // it is one of harness.FreeAddr
	return port
}

func (s *system) envoyCommand() (argv, env []string, err error) {
	ours := filepath.Join(harness.Root(), ".bin/python/bin/envoy")
	program, err := installed(".ci/setup envoy installs it into .bin", "envoy", ours)
	if err != nil {
		return nil, nil, err
	}
	b, err := os.ReadFile(deploy(envoy))
	if err != nil {
		return nil, nil, err
	}
	text, edits := string(b), envoyEdits[s.way.front]
	for from, addr := range map[string]string{"8000": s.listen, "8081": s.addrs[0], "8082": s.addrs[1]} {
		edits = append(edits, [2]string{"port_value: " + from + " ", "port_value: " + port(addr) + " "})
	}
	for _, edit := range edits {
		if !strings.Contains(text, edit[0]) {
			return nil, nil, fmt.Errorf("%s has no %q to change", deploy(envoy), edit[0])
		}
		text = strings.ReplaceAll(text, edit[0], edit[1])
	}
	name := filepath.Join(s.dir, "front.yaml") // Envoy wants this extension
	argv = []string{program, "-c", name, "--concurrency", "2", "--disable-hot-restart", "--log-level", "error"}
	return argv, nil, os.WriteFile(name, []byte(text), 0o600)
}
