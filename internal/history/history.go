// Package history keeps what made a service's requests slow, over hours and deployments. It
// combines many short traces, such as the snapshots of package reqtrace/recorder.
//
// [Head.Explain] assigns each slow request of a trace to one cause. A [History] counts these
// requests by hour, class and cause, once even if traces overlap. It also counts the slow requests
// that no trace explains, and why ([Coverage]). In the shares of causes, the explained requests of a
// class stand for the rest of the class. A [Store] is a History on disk. [History.Merge] adds up
// several replicas.
//
// docs/recorder.md says how much a history keeps. What does not fit into an hour counts as [Others].
package history

import (
	"cmp"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"time"
)

// ErrSame is the error of [History.Merge] if both histories have what one process saw.
var ErrSame = errors.New("both histories have what the same process saw")

var errVersion = errors.New("a newer release wrote it: use a newer version of evenkeel.dev")

const (
	maxKnown  = 512
	maxBuilds = 32
	maxRecent = 1 << 14 // ids that are remembered, or up to twice as many
	maxHours  = 3 * 24
	newFor    = time.Hour
	newLeast  = time.Hour // of watching, before a cause can be new
	newShare  = .05       // of that time, which must be recorded
	maxNew    = 5
)

// History is what made a service's requests slow. Its zero value is empty. It is not for concurrent
// use.
type History struct {
	hours   map[int64]*hour // by hours since 1970
	known   map[Key]*known
	builds  map[string]*watch
	sources map[string]bool    // names of processes
	recent  [2]map[uint64]bool // hashes of ids, the newer ones first
}

// known is when a cause was seen, also in hours that are dropped.
type known struct {
	First  time.Time `json:"first"`
	Last   time.Time `json:"last"`
	builds map[string]bool
}

func (k *known) merge(x *known) {
	k.First, k.Last = earlier(k.First, x.First), later(k.Last, x.Last)
	if k.builds == nil {
		k.builds = map[string]bool{}
	}
	maps.Copy(k.builds, x.builds)
}

// watch is how long slow requests were counted, and how much of that was recorded.
type watch struct {
	First   time.Time     `json:"first"`
	Watched time.Duration `json:"watched_ns,omitempty"`
	Covered time.Duration `json:"covered_ns,omitempty"`
}

func (w *watch) add(x watch) {
	w.First = earlier(w.First, x.First)
	w.Watched = min(w.Watched+boundedTime(x.Watched), maxTime)
	w.Covered = min(w.Covered+boundedTime(x.Covered), maxTime)
}

func (w *watch) enough() bool {
	return w.Watched >= newLeast && float64(w.Covered) >= newShare*float64(w.Watched)
}

var seed = maphash.MakeSeed()

func (h *History) seen(name string) bool {
	if name == "" {
		return false
	}
	id := maphash.String(seed, name)
	if h.recent[0][id] || h.recent[1][id] {
		return true
	}
	if h.recent[0] == nil || len(h.recent[0]) >= maxRecent {
		h.recent[0], h.recent[1] = map[uint64]bool{}, h.recent[0]
	}
	h.recent[0][id] = true
	return false
}

func (h *History) insert(r Request) {
	at, minute := hourOf(r.Start)
	x := h.hour(at)
	count := Coverage{Seen: 1}
	if r.Cut {
		count = Coverage{Cut: 1}
	}
	entry(&x.tallyOf(r.Key.Class).Minutes, minute).add(count)
	if r.Cut {
		return
	}
	h.know(r.Key, r.Start, r.Build)
	r.Caller, r.Calls = "", nil
	entry(&x.cells, r.Key).merge(&cell{map[uint8]*lost{minute: {1, r.Lost}}, r.Start, r.Start, r})
	x.fold(r.Key)
}

func (h *History) know(k Key, at time.Time, build string) {
	if build != "" {
		h.built(build, at)
	}
	entry(&h.known, k).merge(&known{at, at, map[string]bool{build: true}})
	for len(h.known) > maxKnown {
		delete(h.known, slices.MinFunc(slices.Collect(maps.Keys(h.known)), func(a, b Key) int {
			return cmp.Or(h.known[a].Last.Compare(h.known[b].Last), compareKeys(a, b))
		}))
	}
}

func (h *History) built(build string, at time.Time) { h.addWatched(build, at, 0, 0) }

func (h *History) addWatched(build string, at time.Time, passed, covered time.Duration) {
	entry(&h.builds, shorten(build)).add(watch{wallClock(at.Add(-passed)), passed, covered})
	for len(h.builds) > maxBuilds {
		oldest := h.buildNames()[0]
		delete(h.builds, oldest)
		for _, x := range h.known {
			if x.builds[oldest] {
				delete(x.builds, oldest)
				x.builds[Others] = true
			}
		}
	}
}

func (h *History) buildNames() []string {
	return slices.SortedFunc(maps.Keys(h.builds), func(a, b string) int {
		return cmp.Or(h.builds[a].First.Compare(h.builds[b].First), cmp.Compare(a, b))
	})
}

func (h *History) count(at time.Time, class string, c Count) {
	hour, minute := hourOf(at)
	entry(&h.hour(hour).tallyOf(shorten(class)).Minutes, minute).add(Coverage{Count: c})
}

func (h *History) addUsual(at time.Time, u Usual) {
	hour, _ := hourOf(at)
	for class, x := range u {
		h.hour(hour).tallyOf(shorten(class)).Usual.add(x)
	}
}

// usual returns what usual requests took in the last hours that have enough.
func (h *History) usual() Usual {
	sum := Usual{}
	for _, at := range slices.Backward(h.order()) {
		for class, t := range h.hours[at].classes {
			u, ok := sum[class]
			if class == Others || t.Usual.Requests == 0 || u.Requests >= usualEnough || !ok && len(sum) >= maxClasses {
				continue
			}
			u.add(t.Usual)
			sum[class] = u
		}
	}
	return sum
}

func (h *History) hour(at int64) *hour {
	x := h.hours[at]
	if x == nil {
		x = entry(&h.hours, at)
		h.prune(maxHours, at)
	}
	return x
}

// prune drops the oldest hours beyond so many, except the one added last. It counts hours, because a
// clock may be set wrong.
func (h *History) prune(hours int, added int64) {
	for _, at := range h.order() {
		if len(h.hours) > hours && at != added {
			delete(h.hours, at)
		}
	}
}

func (h *History) order() []int64 { return slices.Sorted(maps.Keys(h.hours)) }

func hourOf(t time.Time) (hour int64, minute uint8) {
	t = wallClock(t)
	return t.Truncate(time.Hour).Unix() / 3600, uint8(t.Minute())
}

// Merge adds all of another history. Sums are exact, in any order, and no bound applies. If both
// have what one process saw, Merge adds nothing and returns [ErrSame].
func (h *History) Merge(other *History) error {
	if err := h.Differs(other); err != nil {
		return err
	}
	h.merge(other)
	return nil
}

// Differs returns [ErrSame] if both histories have what one process saw.
func (h *History) Differs(other *History) error {
	for s := range other.sources {
		if h.sources[s] {
			return fmt.Errorf("history: %w (%s)", ErrSame, s)
		}
	}
	return nil
}

func (h *History) merge(other *History) {
	for at, x := range other.hours {
		entry(&h.hours, at).merge(x)
	}
	for k, x := range other.known {
		entry(&h.known, k).merge(x)
	}
	for b, w := range other.builds {
		entry(&h.builds, b).add(*w)
	}
	for s := range other.sources {
		h.addSource(s)
	}
}

func (h *History) addSource(name string) {
	if h.sources == nil {
		h.sources = map[string]bool{}
	}
	h.sources[name] = true
}

func (h *History) since(t time.Time) *History {
	from, _ := hourOf(t)
	hours := maps.Clone(h.hours)
	maps.DeleteFunc(hours, func(at int64, _ *hour) bool { return at < from })
	part := &History{}
	part.merge(&History{hours: hours, known: h.known, builds: h.builds, sources: h.sources})
	return part
}
