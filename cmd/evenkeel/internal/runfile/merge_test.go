package runfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/gctrace"
	"evenkeel.dev/loadgen"
	"github.com/google/go-cmp/cmp"
)

// generator is the file of one of three generators.
func generator(i int) *File {
	l := &loadgen.Result{
		Targets: []string{"GET http://x/"}, Connections: 10, Rate: 100, Timeout: time.Second,
		Started: time.Unix(1e9, int64(i)*1e6), Duration: 2 * time.Second, Answered: 200,
		Statuses: map[int]int64{200: 200},
	}
	l.Latency.RecordN(time.Duration(i+1)*time.Millisecond, 200)
	return &File{
		Version: Version, Tool: "evenkeel devel", Machine: Machine{
			OS: "linux", Arch: "amd64", Cores: 2 + i,
			MemoryBytes: 8 << 30, Go: "go1.26",
		},
		Runs: []Run{{Label: "load", Repeat: 1, Load: l, Share: &Share{i, 3}}},
	}
}

func generators() ([]*File, []string) {
	return []*File{generator(0), generator(1), generator(2)}, []string{"0.json", "1.json", "2.json"}
}

var strict = MergeOptions{Skew: time.Second}

func TestMerge(t *testing.T) {
	files, names := generators()
	files[1].Runs[0].GC = &GC{Collections: []Collection{{At: 1}}}
	files[2].Runs[0].Notes = []string{"something"}
	sum, err := Merge(files, names, strict)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := sum.Write(&b); err != nil {
		t.Fatal(err)
	}
	if sum, err = Read(&b); err != nil {
		t.Fatal(err)
	}
	r := sum.Runs[0]
	l := r.Load
	if l.Rate != 300 || l.Connections != 30 || l.Answered != 600 || l.Latency.Count() != 600 ||
		l.Duration != 2002*time.Millisecond || !l.Started.Equal(time.Unix(1e9, 0)) {
		t.Errorf("%+v", l)
	}
	if r.Share != nil || len(r.Parts) != 3 || r.Parts[2].File != "2.json" || r.Parts[2].Machine.Cores != 4 ||
		*r.Parts[2].Share != (Share{2, 3}) {
		t.Errorf("parts %+v of share %v", r.Parts, r.Share)
	}
	if sum.Machine.Cores != 2 || sum.Machine.OS != "linux" || sum.Machine.MemoryBytes != 8<<30 {
		t.Errorf("machine %+v", sum.Machine)
	}
	if r.GC == nil {
		t.Error("the collector's figures of the one that had them are lost")
	}
	if d := cmp.Diff([]string{
		"added up from 3 generators; their windows began within 2 ms by their clocks",
		"something",
	}, r.Notes); d != "" {
		t.Error(d)
	}
}

// TestMergeOfMerges is the merge of all at once.
func TestMergeOfMerges(t *testing.T) {
	files, names := generators()
	for _, f := range files {
		f.Runs[0].Share = nil
	}
	all, err := Merge(files, names, strict)
	if err != nil {
		t.Fatal(err)
	}
	two, err := Merge(files[:2], names[:2], strict)
	if err != nil {
		t.Fatal(err)
	}
	steps, err := Merge([]*File{two, files[2]}, []string{"two.json", "2.json"}, strict)
	if err != nil {
		t.Fatal(err)
	}
	steps.Runs[0].Notes, all.Runs[0].Notes = nil, nil
	a, _ := json.Marshal(all)
	b, _ := json.Marshal(steps)
	if d := cmp.Diff(string(a), string(b)); d != "" {
		t.Error(d)
	}
}

func TestMergeLeavesOutWhatSeveralSaw(t *testing.T) {
	files, names := generators()
	files[0].Runs[0].GC, files[1].Runs[0].GC = &GC{}, &GC{}
	sum, err := Merge(files, names, strict)
	if err != nil || sum.Runs[0].GC != nil || !strings.Contains(sum.Runs[0].Notes[0],
		"2 generators have figures of the service's own") {
		t.Errorf("%v, %+v", err, sum)
	}
}

func TestMergeRefuses(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(f *File)
		want   string
	}{
		{"tool", func(f *File) { f.Tool = "evenkeel v9" }, `2.json was measured by "evenkeel v9"`},
		{"more runs", func(f *File) { f.Runs = append(f.Runs, f.Runs[0]) }, "2.json has 2 runs, and 0.json has 1"},
		{"label", func(f *File) { f.Runs[0].Label = "other" }, `2.json has no run "load", repeat 1`},
		{"repeat", func(f *File) { f.Runs[0].Repeat = 2 }, `2.json has no run "load", repeat 1`},
		{"its own service", func(f *File) {
			f.Runs[0].Command = []string{"server"}
		}, "2.json: evenkeel run started a service of its own"},
		{"another tool", func(f *File) { f.Runs[0].Import = "vegeta" }, "different tools"},
		{"another mix", func(f *File) {
			f.Runs[0].Mix = &Mix{File: "targets.txt", Made: 7}
		}, `2.json: its requests are 7 of "targets.txt", and those of 0.json 0 of ""`},
		{"missing share", func(f *File) { f.Runs[0].Share.Of = 4 }, "share 2/4, and another is one of 3"},
		{"the same share", func(f *File) { f.Runs[0].Share.Index = 1 }, "1.json and 2.json are both share 1/3"},
		{"no such share", func(f *File) {
			f.Runs[0].Share.Index = 3
		}, "2.json says that it is share 3/3, which there is not"},
		{"no share", func(f *File) { f.Runs[0].Share = nil }, "some files are shares of a load, and some are not"},
		{"later", func(f *File) {
			f.Runs[0].Load.Started = time.Unix(1e9+60, 0)
		}, "the window of 2.json began 60 s after that of 0.json"},
		{"longer", func(f *File) {
			f.Runs[0].Load.Duration = time.Minute
		}, "0.json was loaded for 2 s, and 2.json for 60 s"},
		{"no time", func(f *File) { f.Runs[0].Load.Started = time.Time{} }, "does not say when"},
		{"late", func(f *File) {
			f.Runs[0].Load.Late = 3
		}, "2.json: 3 of 200 requests were sent more than 1 ms late, so that the rate was not kept: lower it"},
		{"unsent", func(f *File) {
			f.Runs[0].Load.Failures = []loadgen.Failure{{Class: loadgen.ClassUnsent, Count: 7}}
		}, "2.json: 7 were not sent"},
		{"targets", func(f *File) { f.Runs[0].Load.Targets = nil }, "2.json: it has other targets"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files, names := generators()
			tt.change(files[2])
			if _, err := Merge(files, names, strict); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
	files, names := generators()
	for _, tt := range []struct {
		files []*File
		names []string
		want  string
	}{
		{files[:1], names[:1], "one file cannot be merged"},
		{files[:2], names[:2], "1 of 3 shares are not there, such as 2/3: collect"},
		{[]*File{files[0], files[0]}, names[:2], "0.json and 1.json are the same run"},
	} {
		if _, err := Merge(tt.files, tt.names, strict); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v, want %q", err, tt.want)
		}
	}
}

// TestMergeKeepsWhatIsOfTheMachine in the parts, and says it.
func TestMergeKeepsWhatIsOfTheMachine(t *testing.T) {
	files, names := generators()
	for i, f := range files {
		seed := uint64(i)
		f.Runs[0].Mix = &Mix{File: "t", Made: 3, Seed: &seed}
	}
	files[1].Runs[0].Disturbance = &Disturbance{Window: time.Minute, Other: gctrace.Of(12.), Steal: gctrace.Of(5.)}
	sum, err := Merge(files, names, strict)
	if err != nil {
		t.Fatal(err)
	}
	r := sum.Runs[0]
	said := strings.Join(r.Notes, "\n")
	if r.Disturbance != nil || r.Parts[1].Disturbance == nil || !strings.Contains(said,
		"1.json: 12% of this machine's processor time went to processes other than evenkeel\n"+
			"1.json: 5% of this machine's processor time went to its hypervisor (steal)") {
		t.Errorf("%+v\n%s", r.Parts, said)
	}
	if r.Mix == nil || r.Mix.File != "t" || r.Mix.Made != 3 || r.Mix.Seed != nil {
		t.Errorf("%+v", r.Mix)
	}
}

// TestMergeKnowsEachField fails when a part is added to Run and Merge does not know it: say there
// what becomes of it, and its name here.
func TestMergeKnowsEachField(t *testing.T) {
	want := "Label Repeat Round Command Env Load GC Alloc Server Disturbance Mix PProf GCTrace Notes Share Parts Import"
	var got []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Run]()) {
		got = append(got, f.Name)
	}
	if d := cmp.Diff(strings.Fields(want), got); d != "" {
		t.Errorf("-what Merge knows +what there is\n%s", d)
	}
}

// TestMergeTakesLateOnesWhereToldTo notes each.
func TestMergeTakesLateOnesWhereToldTo(t *testing.T) {
	files, names := generators()
	files[1].Runs[0].Load.Late = 100
	sum, err := Merge(files, names, MergeOptions{Skew: time.Second, AllowLate: true})
	if err != nil || sum.Runs[0].Load.Late != 100 ||
		!strings.Contains(strings.Join(sum.Runs[0].Notes, "\n"),
			"1.json did not keep its rate: 100 of 200 requests were sent more than 1 ms late") {
		t.Errorf("%v, %+v", err, sum)
	}
}

// FuzzMerge adds what any file may hold to itself in another window: it is refused, or each count
// doubles.
func FuzzMerge(f *testing.F) {
	good, err := json.Marshal(generator(0))
	if err != nil {
		f.Fatal(err)
	}
	whole, err := os.ReadFile("testdata/share.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(whole)
	f.Add(good[:len(good)/2])
	f.Add(bytes.Replace(good, []byte(`"rate":100`), []byte(`"rate":-100`), 1))
	f.Fuzz(func(t *testing.T, text []byte) {
		a, err := Read(bytes.NewReader(text))
		if err != nil {
			return
		}
		b, err := Read(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range []*File{a, b} {
			for i := range file.Runs {
				file.Runs[i].Share = nil
			}
		}
		for i := range b.Runs {
			b.Runs[i].Load.Started = b.Runs[i].Load.Started.Add(time.Millisecond)
		}
		sum, err := Merge([]*File{a, b}, []string{"a", "b"}, MergeOptions{Skew: time.Hour, AllowLate: true})
		if err != nil {
			return
		}
		for i := range sum.Runs {
			got, one := sum.Runs[i].Load, a.Runs[i].Load
			if got.Latency.Count() != 2*one.Latency.Count() || got.Answered != 2*one.Answered ||
				got.Failed != 2*one.Failed || got.Latency.Max() != one.Latency.Max() {
				t.Errorf("run %d: %+v is not twice %+v", i, got, one)
			}
			twice := map[time.Duration]int64{}
			for d, n := range one.Latency.All() {
				twice[d] = 2 * n
			}
			if d := cmp.Diff(twice, maps.Collect(got.Latency.All())); d != "" && one.Latency.Count() > 0 {
				t.Errorf("run %d: -twice +sum\n%s", i, d)
			}
			if fmt.Sprint(got.Targets) != fmt.Sprint(one.Targets) {
				t.Errorf("run %d: targets %v", i, got.Targets)
			}
		}
		var out bytes.Buffer
		if err := sum.Write(&out); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(&out); err != nil {
			t.Errorf("what was merged cannot be read: %v", err)
		}
	})
}
