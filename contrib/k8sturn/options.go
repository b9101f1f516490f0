package k8sturn

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"evenkeel.dev"
	"evenkeel.dev/gcgate"
)

const (
	maxK        = 16
	maxGroup    = 63
	maxHolder   = 255
	minDuration = time.Second
	maxDuration = 5 * time.Minute
)

// Options configure [Turns]. The zero value works in a pod whose service account may use Leases.
type Options struct {
	// URL is that of the API server, such as https://10.0.0.1:6443. Default: empty, the cluster of
	// this pod.
	URL string

	// Client sends the requests with this process's credentials. With client-go, use
	// rest.HTTPClientFor(config) and the URL config.Host. Set it if URL is set. Default: nil, the
	// pod's service account.
	Client *http.Client

	// Namespace of the Leases. Default: empty, the pod's, or "default" if URL is set.
	Namespace string

	// Group names the replicas behind one Service. Default: empty, the program's file name. Limit:
	// 63 bytes of a-z, 0-9, '-' and '.', with a letter or digit at both ends and around each '.'.
	Group string

	// K is how many of the group may collect at once, the same in all of them. Default: 0, which is
	// 1. Limit: 16.
	K int

	// Holder names this process to operators, with a suffix. Default: empty, which is host:pid.
	// Limit: 255 bytes.
	Holder string

	// Duration is how long the turn of a dead holder stays taken once a replica waits for it,
	// rounded up to seconds. A holder that is stopped for longer loses the turn. Default: 0, which
	// is 10 s. Limit: 1 s to 5 minutes.
	Duration time.Duration

	ownClient bool
}

func refuse(option, format string, args ...any) error {
	return evenkeel.NewOptionError("k8sturn.Options", option, format, args...)
}

// groupName is a name of RFC 1123.
var groupName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

func (o Options) withDefaults() (Options, error) {
	if (o.URL == "") != (o.Client == nil) {
		return o, refuse("Client", "URL and Client belong together: set both, or none in a pod")
	}
	if u, err := url.Parse(o.URL); err != nil || o.URL != "" && (u.Scheme == "" || u.Host == "") {
		return o, refuse("URL", "%q is not the URL of a server: write https://host:port", o.URL)
	}
	if o.Group == "" {
		o.Group = filepath.Base(os.Args[0])
	}
	if len(o.Group) > maxGroup || !groupName.MatchString(o.Group) {
		return o, refuse("Group",
			"%.40q cannot be part of an object's name: use up to %d of a-z, 0-9, '-' and '.', a letter or digit at "+
				"both ends and around each '.'", o.Group, maxGroup)
	}
	o.K = cmp.Or(o.K, 1)
	if o.K < 0 || o.K > maxK {
		return o, refuse("K", "%d is out of range: use 1 to %d", o.K, maxK)
	}
	if o.Holder == "" {
		host, _ := os.Hostname()
		o.Holder = fmt.Sprintf("%s:%d", cmp.Or(host, "unknown"), os.Getpid())
	}
	if len(o.Holder) > maxHolder {
		return o, refuse("Holder", "it has %d bytes: use at most %d", len(o.Holder), maxHolder)
	}
	o.Holder += "_" + rand.Text()[:8]
	o.Duration = cmp.Or(o.Duration, 10*time.Second)
	if o.Duration < minDuration || o.Duration > maxDuration {
		return o, refuse("Duration", "%v is out of range: use %v to %v, 0 for 10s", o.Duration, minDuration,
			maxDuration)
	}
	o.Duration = (o.Duration + time.Second - 1).Truncate(time.Second)
	if o.URL == "" {
		return o.inClusterAt(accountDir)
	}
	o.Namespace = cmp.Or(o.Namespace, "default")
	return o, nil
}

var errClosed = errors.New("k8sturn: closed: make new Turns with New")

var (
	errChanged = errors.New("the Lease was deleted, or has another holder")
	errExpired = errors.New("the Lease could not be renewed in time")
)

func isCode(err error, code int) bool {
	refusal, refused := errors.AsType[*statusError](err)
	return refused && refusal.Code == code
}

// inDoubt reports whether the request that returned err may have been carried out.
func inDoubt(err error) bool {
	refusal, refused := errors.AsType[*statusError](err)
	return !refused || refusal.Code >= http.StatusInternalServerError
}

func (t *Turns) explain(err error) error {
	select {
	case <-t.closing:
		return errClosed
	default:
	}
	refusal, refused := errors.AsType[*statusError](err)
	switch {
	case errors.Is(err, gcgate.ErrHeld):
		return err
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("k8sturn: group %q: given up: %w", t.options.Group, err)
	case !refused:
		return fmt.Errorf("k8sturn: no answer from the API server at %s: check that it runs and can be reached: %w",
			t.options.URL, err)
	case refusal.Code == http.StatusUnauthorized, refusal.Code == http.StatusForbidden:
		return fmt.Errorf("k8sturn: the service account may not use Leases in namespace %q: give it get, "+
			"create and patch of leases in coordination.k8s.io (deploy/kubernetes has the Role): %w",
			t.options.Namespace, err)
	}
	return fmt.Errorf("k8sturn: the API server at %s refused: %w", t.options.URL, err)
}
