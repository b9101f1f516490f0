package gcgate

import (
	"runtime"
	"time"
)

// predictor tells how long the next collection will take, because marking is linear in the live
// heap. It keeps moving averages of both.
type predictor struct {
	seconds, bytes float64
}

const (
	predictWeight = 0.3  // of the newest collection in the averages
	predictMargin = 1.25 // the longest of some collections is up to 1.35 of their mean

	// A first guess of one nanosecond per byte and core, because a process that has just started
	// tells little.
	priorBytes   = 32 << 20
	priorPerByte = 1e-9

	predictMin, predictMax = time.Millisecond, 10 * time.Second
)

func newPredictor() predictor {
	return predictor{
		seconds: priorBytes * priorPerByte / float64(min(runtime.GOMAXPROCS(0), 4)),
		bytes:   priorBytes,
	}
}

func (p *predictor) seed(took time.Duration, live uint64) {
	p.seconds += took.Seconds()
	p.bytes += float64(live)
}

func (p *predictor) learn(took time.Duration, live uint64) {
	p.seconds += predictWeight * (took.Seconds() - p.seconds)
	p.bytes += predictWeight * (float64(live) - p.bytes)
}

// expect returns how long a collection of live bytes will take at most, nearly always.
func (p *predictor) expect(live uint64) time.Duration {
	s := p.seconds / max(p.bytes, 1) * float64(live) * predictMargin
	return max(time.Duration(min(s, predictMax.Seconds())*float64(time.Second)), predictMin)
}
