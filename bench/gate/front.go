//go:build linux

package gate

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"evenkeel.dev/bench/harness"
)

// Configurations in deploy.
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
	_, port, _ := net.SplitHostPort(addr)
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

// of CPU time, for all threads of a replica
const (
	quotaTime   = 30 * time.Millisecond
	quotaPeriod = 100 * time.Millisecond
)

// quotas are control groups, one for each replica.
type quotas []string

func newQuotas(n int) (q quotas, err error) {
	root, v2 := cpuController()
	for i := 0; i < n && err == nil; i++ {
		dir := filepath.Join(root, fmt.Sprintf("evenkeel-bench-%d-%d", os.Getpid(), i))
		if err = os.Mkdir(dir, 0o755); err == nil {
			q = append(q, dir)
			err = limitCPU(dir, v2)
		}
	}
	if err != nil {
		return nil, harness.NotHere(errors.Join(fmt.Errorf("no quota of CPU time: it needs root, and control groups "+
			"with the controller cpu that may be written: %w", err), q.close()))
	}
	return q, nil
}

func limitCPU(dir string, v2 bool) error {
	share, period := strconv.FormatInt(quotaTime.Microseconds(), 10), strconv.FormatInt(quotaPeriod.Microseconds(), 10)
	if v2 {
		return os.WriteFile(filepath.Join(dir, "cpu.max"), []byte(share+" "+period), 0)
	}
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "cpu.cfs_period_us"), []byte(period), 0),
		os.WriteFile(filepath.Join(dir, "cpu.cfs_quota_us"), []byte(share), 0))
}

// close removes the groups, after their processes have ended.
func (q quotas) close() (err error) {
	for _, dir := range q {
		err = errors.Join(err, os.Remove(dir))
	}
	return err
}

func within(group string, argv ...string) []string {
	return append([]string{"sh", "-c", `echo $$ >"$0/cgroup.procs" && exec "$@"`, group}, argv...)
}

// cpuController returns the folder for groups with the controller cpu, where systemd mounts it.
func cpuController() (root string, v2 bool) {
	const mounted = "/sys/fs/cgroup"
	has, _ := os.ReadFile(mounted + "/cgroup.subtree_control") // v1 has none
	if slices.Contains(strings.Fields(string(has)), "cpu") {
		return mounted, true
	}
	return mounted + "/cpu", false
}
