package gcgate

// Policy says what a [Gate] does around a collection.
type Policy uint32

const (
	// Auto is Drain when there is a signal. Without one it watches the stock runtime for its
	// first collections and then chooses: Idle where requests leave gaps to collect in,
	// Through where assists take a notable share of the CPU, else the stock runtime stays in
	// charge, and is watched again after 10 s, 20 s, and so on, up to 10 minutes. The choice and
	// its figures are logged.
	Auto Policy = iota

	// Drain tells the peers, waits until the process is quiet, collects, and comes back. It
	// refuses no request: one that comes all the same is served.
	Drain

	// Idle collects in gaps between requests once there is something to collect, and where no
	// gap comes, at the trigger while serving. It needs no peer.
	Idle

	// Through collects at the trigger while serving. The gain over the stock runtime is that
	// requests do not assist. It needs no peer.
	Through

	// Shed is Drain that answers 503 with Retry-After from the announcement until it is back,
	// for peers that know no other signal (nginx: proxy_next_upstream http_503). Requests
	// that run already are finished. It works because it refuses before it collects, when the
	// CPU is free to do so.
	Shed

	// stock leaves the runtime in charge: Auto chose it.
	stock
)

var policyNames = [...]string{"auto", "drain", "idle", "through", "shed", "stock"}

// String returns the policy's name in lower case.
func (p Policy) String() string { return name(policyNames[:], uint32(p)) }

// MarshalText returns the policy's name.
func (p Policy) MarshalText() ([]byte, error) { return []byte(p.String()), nil }
