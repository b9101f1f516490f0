package main

import (
	"os/exec"
	"regexp"
)

var versionNumber = regexp.MustCompile(`\d+\.\d+(\.\d+)?`)

// versions says which peers stand beside the gate; one that is missing is left out.
func (d *driver) versions() map[string]string {
	v := map[string]string{}
	for name, argv := range map[string][]string{
		"haproxy": {"haproxy", "-v"}, "nginx": {"nginx", "-v"}, "etcd": {"etcd", "--version"},
		"envoy":        {d.envoyProgram(), "--version"},
		"grpc":         {"go", "list", "-m", "google.golang.org/grpc"},
		"raft":         {"go", "list", "-m", "go.etcd.io/raft/v3"},
		"automemlimit": {"go", "list", "-m", "github.com/KimMachineGun/automemlimit"},
		"gctuner":      {"go", "list", "-m", "github.com/bytedance/gopkg"},
	} {
		out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
		if n := versionNumber.Find(out); err == nil && n != nil {
			v[name] = string(n)
		}
	}
	return v
}
