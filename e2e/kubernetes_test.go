//go:build unix

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"evenkeel.dev/internal/testutil"
	"evenkeel.dev/loadgen"
)

const loadJob = "../deploy/kubernetes/load-job.yaml"

type job struct {
	Spec struct {
		CompletionMode           string
		Completions, Parallelism int
		BackoffLimit             *int
		Template                 struct {
			Spec struct {
				RestartPolicy string
				Containers    []struct {
					Args []string
					Env  []struct {
						Name, Value string
						ValueFrom   struct{ FieldRef struct{ FieldPath string } }
					}
				}
			}
		}
	}
}

// TestLoadJobIsKnown has kubectl read the manifest without a cluster. It loses fields that it does
// not know.
func TestLoadJobIsKnown(t *testing.T) {
	text, err := os.ReadFile(loadJob)
	if err != nil {
		t.Fatal(err)
	}
	kubectl, err := exec.LookPath("kubectl")
	if err != nil {
		t.Skip("needs kubectl, 1.24 or later, to check deploy/kubernetes/load-job.yaml against the types of its API")
	}
	known := func(text []byte) map[string]any {
		cmd := exec.CommandContext(t.Context(), kubectl, "set", "image", "--local", "--dry-run=client", "-f", "-",
			"load=another", "-o", "json")
		cmd.Stdin = bytes.NewReader(text)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v\n%s", cmd, err, out)
		}
		var v map[string]any
		if err := json.Unmarshal(out, &v); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return v
	}
	var is map[string]any
	if err := yaml.UnmarshalStrict(text, &is); err != nil {
		t.Fatal(err)
	}
	if _, has := known(text)["spec"].(map[string]any)["completionMode"]; !has &&
		strings.Contains(string(text), "completionMode") {
		t.Skip("needs kubectl 1.24 or later: this one does not know an indexed Job")
	}
	if lost := lostFields("", is, known(text)); len(lost) > 0 {
		t.Errorf("kubectl does not know, or changed: %v", lost)
	}
	wrong := bytes.Replace(text, []byte("backoffLimit"), []byte("backofLimit"), 1)
	if err := yaml.Unmarshal(wrong, &is); err != nil {
		t.Fatal(err)
	}
	if lost := lostFields("", is, known(wrong)); !slices.Equal(lost, []string{".spec.backofLimit"}) {
		t.Errorf("a wrong field was not found, but %v", lost)
	}
}

// lostFields returns the fields of want that differ in has, except the image.
func lostFields(path string, want, has any) (lost []string) {
	switch want := want.(type) {
	case map[string]any:
		has, _ := has.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(want)) {
			lost = append(lost, lostFields(path+"."+name, want[name], has[name])...)
		}
	case []any:
		has, _ := has.([]any)
		for i, v := range want {
			if i >= len(has) {
				return append(lost, fmt.Sprintf("%s[%d]", path, i))
			}
			lost = append(lost, lostFields(fmt.Sprintf("%s[%d]", path, i), v, has[i])...)
		}
	default:
		if fmt.Sprint(want) != fmt.Sprint(has) && !strings.HasSuffix(path, ".image") {
			lost = append(lost, path)
		}
	}
	return lost
}

// args are what the pod of an index runs, except the rate, the time and the URL.
func (j *job) args(index int, start time.Time, url string) (args []string) {
	container := j.Spec.Template.Spec.Containers[0]
	env := map[string]string{}
	for _, e := range container.Env {
		env[e.Name] = e.Value
		if strings.HasSuffix(e.ValueFrom.FieldRef.FieldPath, "['batch.kubernetes.io/job-completion-index']") {
			env[e.Name] = fmt.Sprint(index)
		}
	}
	env["START"] = fmt.Sprint(start.Unix())
	for _, a := range container.Args {
		for name, value := range env {
			a = strings.ReplaceAll(a, "$("+name+")", value)
		}
		switch {
		case strings.HasPrefix(a, "-rate="):
			a = "-rate=400"
		case strings.HasPrefix(a, "-z="):
			a = "-z=500ms"
		case strings.HasPrefix(a, "http"):
			a = url
		}
		args = append(args, a)
	}
	return args
}

// run runs the pods as processes, and keeps their logs. It returns false if one missed the start.
func (j *job) run(t *testing.T, evenkeel, dir, url string, start time.Time) bool {
	t.Helper()
	late := make([]bool, j.Spec.Completions)
	var wg sync.WaitGroup
	for i := range late {
		wg.Go(func() {
			cmd := exec.CommandContext(t.Context(), evenkeel, j.args(i, start, url)...)
			var out, errOut bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errOut
			err := cmd.Run()
			late[i] = err != nil && strings.Contains(errOut.String(), " is over since ")
			if !late[i] && (err != nil || errOut.Len() > 0) {
				t.Errorf("%s: %v\n%s", cmd, err, errOut.String())
			}
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i, ".json")), out.Bytes(), 0o644); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	return !slices.Contains(late, true)
}

// TestLoadJob runs the pods as processes. Their sum has each request of the service once.
func TestLoadJob(t *testing.T) {
	testutil.Slow(t, "builds and starts services")
	text, err := os.ReadFile(loadJob)
	if err != nil {
		t.Fatal(err)
	}
	var j job
	if err := yaml.Unmarshal(text, &j); err != nil {
		t.Fatal(err)
	}
	n := j.Spec.Completions
	if j.Spec.CompletionMode != "Indexed" || j.Spec.Parallelism != n ||
		n < 2 || j.Spec.BackoffLimit == nil || *j.Spec.BackoffLimit != 0 ||
		j.Spec.Template.Spec.RestartPolicy != "Never" {
		t.Fatalf("%+v: its pods are not started together, once each", j.Spec)
	}
	var requests atomic.Int64
	service := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	defer service.Close()
	evenkeel, dir := build(t, "../cmd/evenkeel"), t.TempDir()
	for lead := 2 * time.Second; !j.run(t, evenkeel, dir, service.URL, time.Now().Add(lead)) && !t.Failed(); lead *= 2 {
		if lead > stopTimeout { // on a busy machine they start late
			t.Fatalf("the processes did not start within %v", lead)
		}
		requests.Store(0)
	}

	var files []string
	for i := range n {
		files = append(files, filepath.Join(dir, fmt.Sprint(i, ".json")))
	}
	all := filepath.Join(dir, "all.json")
	merge := func(files ...string) (string, error) {
		out, err := exec.CommandContext(t.Context(), evenkeel,
			append([]string{"merge", "-allow-late", "-skew", "1m", "-o", all}, files...)...).CombinedOutput()
		return string(out), err
	}
	if out, err := merge(files[:n-1]...); err == nil ||
		!strings.Contains(out, fmt.Sprintf("1 of %d shares are not there, such as %[2]d/%[1]d", n, n-1)) {
		t.Errorf("with a share missing: %v, %s", err, out)
	}
	if out, err := merge(files...); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	sum, parts := loadResult(t, all), loadgen.Histogram{}
	for _, f := range files {
		parts.Merge(&loadResult(t, f).Latency)
	}
	want, _ := json.Marshal(parts)
	got, _ := json.Marshal(sum.Latency)
	if !bytes.Equal(want, got) {
		t.Errorf("the histogram of the sum is not the sum of the histograms: %d and %d requests", sum.Latency.Count(),
			parts.Count())
	}
	if sum.Rate != 400 || sum.Requests() != 200 || sum.Answered != requests.Load() {
		t.Errorf("%v requests/s, %d requests of 200, %d answered of %d that the service saw", sum.Rate, sum.Requests(),
			sum.Answered, requests.Load())
	}
}

func loadResult(t *testing.T, name string) *loadgen.Result {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var f struct {
		Runs []struct{ Load *loadgen.Result }
	}
	if err := json.Unmarshal(text, &f); err != nil || len(f.Runs) != 1 || f.Runs[0].Load == nil {
		t.Fatalf("%s: %v\n%s", name, err, text)
	}
	return f.Runs[0].Load
}
