//go:build unix

package kubernetes

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"evenkeel.dev/contrib/k8sturn"
	"evenkeel.dev/internal/testutil"
)

type manifest struct {
	account    corev1.ServiceAccount
	role       rbacv1.Role
	binding    rbacv1.RoleBinding
	service    corev1.Service
	deployment appsv1.Deployment
}

// readManifest refuses fields that the API's types do not have.
func readManifest(text []byte) (m manifest, err error) {
	into := map[string]any{
		"ServiceAccount": &m.account, "Role": &m.role, "RoleBinding": &m.binding, "Service": &m.service,
		"Deployment": &m.deployment,
	}
	for doc := range bytes.SplitSeq(text, []byte("\n---\n")) {
		var kind struct{ Kind string }
		if err := yaml.Unmarshal(doc, &kind); err != nil {
			return m, err
		}
		to, ok := into[kind.Kind]
		if !ok {
			return m, errors.New("an object of kind " + kind.Kind)
		}
		delete(into, kind.Kind)
		if err := yaml.UnmarshalStrict(doc, to); err != nil {
			return m, err
		}
	}
	if len(into) > 0 {
		return m, errors.New("an object is missing")
	}
	return m, nil
}

// TestGateManifest tests the manifest, and that msgpush understands its arguments.
func TestGateManifest(t *testing.T) {
	testutil.Slow(t, "builds a service")
	text, err := os.ReadFile("../../deploy/kubernetes/gate.yaml")
	if err != nil {
		t.Fatal(err)
	}
	m, err := readManifest(text)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := readManifest(bytes.Replace(text, []byte("preStop"), []byte("preStopp"), 1)); err == nil {
		t.Error("a wrong field was not found")
	}
	rule := rbacv1.PolicyRule{
		APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"},
		Verbs: []string{"get", "create", "patch"},
	}
	if len(m.role.Rules) != 1 || m.role.Rules[0].String() != rule.String() {
		t.Errorf("the rights are %v", m.role.Rules)
	}
	spec := m.deployment.Spec
	pod := spec.Template.Spec
	subject := rbacv1.Subject{Kind: "ServiceAccount", Name: m.account.Name}
	if m.binding.RoleRef.Name != m.role.Name || !slices.Equal(m.binding.Subjects, []rbacv1.Subject{subject}) ||
		pod.ServiceAccountName != m.account.Name {
		t.Error("the pods do not get the rights")
	}
	for _, selector := range []map[string]string{m.service.Spec.Selector, spec.Selector.MatchLabels} {
		for key, value := range selector {
			if spec.Template.Labels[key] != value {
				t.Errorf("%s=%s selects no pod", key, value)
			}
		}
	}
	c := pod.Containers[0]
	if *spec.Replicas < 2 || spec.Strategy.RollingUpdate.MaxUnavailable.IntValue() != 0 ||
		m.service.Spec.ClusterIP != corev1.ClusterIPNone {
		t.Error("nobody carries the load of a replica that collects")
	}
	if sleep := c.Lifecycle.PreStop.Sleep; sleep == nil || sleep.Seconds+30 > *pod.TerminationGracePeriodSeconds {
		t.Error("the pod is killed before its requests are finished")
	}
	if c.ReadinessProbe.HTTPGet != nil {
		t.Error("the readiness probe may depend on the gate")
	}
	msgpush := filepath.Join(t.TempDir(), "msgpush")
	build := exec.CommandContext(t.Context(), "go", "build", testutil.RaceFlag, "-ldflags=-w", "-o", msgpush, ".")
	build.Dir = "../../examples/msgpush"
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build in %s: %v\n%s", build.Dir, err, out)
	}
	// with the arguments in comments
	polled, err := readManifest(regexp.MustCompile(`(?m)^( +)# (- -)`).ReplaceAll(text, []byte("$1$2")))
	if err != nil {
		t.Fatal(err)
	}
	args := polled.deployment.Spec.Template.Spec.Containers[0].Args
	if health := slices.Contains(args, "-health"); !health ||
		!slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "-allow=") }) {
		t.Errorf("with %q balancers that poll get no answer", args)
	}
	for _, args := range [][]string{c.Args, args} {
		cmd := exec.CommandContext(t.Context(), msgpush, append(args, "-addr=127.0.0.1:0", "-window=64")...)
		if out, err := cmd.CombinedOutput(); err == nil ||
			!strings.Contains(string(out), "this process runs in no pod") {
			t.Errorf("msgpush with %q: %v\n%s", args, err, out)
		}
	}
}

// TestLeaseTypes decodes what k8sturn sends.
func TestLeaseTypes(t *testing.T) {
	var leases []coordinationv1.Lease
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			http.NotFound(w, r)
			return
		}
		body, _ := io.ReadAll(r.Body)
		var l coordinationv1.Lease
		if err := yaml.UnmarshalStrict(body, &l); err != nil {
			t.Errorf("%s: %v\n%s", r.Method, err, body)
		}
		leases = append(leases, l)
		l.ResourceVersion = "2"
		text, _ := yaml.Marshal(l)
		text, _ = yaml.YAMLToJSON(text)
		_, _ = w.Write(text)
	}))
	defer server.Close()
	turns, err := k8sturn.New(k8sturn.Options{URL: server.URL, Client: server.Client(), Group: "g", Holder: "pod"})
	if err != nil {
		t.Fatal(err)
	}
	defer turns.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	l, err := turns.TryAcquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Release(ctx); err != nil {
		t.Fatal(err)
	}
	if len(leases) != 2 {
		t.Fatalf("%d writes, want two", len(leases))
	}
	take, give := leases[0], leases[1]
	if take.Kind != "Lease" || take.APIVersion != coordinationv1.SchemeGroupVersion.String() ||
		take.Name != "gcgate-g-0" || !strings.HasPrefix(*take.Spec.HolderIdentity, "pod_") ||
		*take.Spec.LeaseDurationSeconds != 10 || take.Spec.RenewTime.IsZero() || take.Spec.AcquireTime.IsZero() {
		t.Errorf("taken: %+v", take)
	}
	if give.ResourceVersion != "2" || give.Spec.HolderIdentity != nil {
		t.Errorf("released: %+v", give)
	}
}
