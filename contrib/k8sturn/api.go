package k8sturn

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
)

const (
	labelGroup = "evenkeel.dev/gcgate-group"
	microTime  = "2006-01-02T15:04:05.000000Z07:00"
	maxAnswer  = 1 << 20 // bytes
)

// object is a Lease of coordination.k8s.io/v1.
type object struct {
	Metadata struct {
		Name            string            `json:"name,omitempty"`
		ResourceVersion string            `json:"resourceVersion,omitempty"`
		Labels          map[string]string `json:"labels,omitempty"`
	} `json:"metadata"`
	Spec spec `json:"spec"`
}

// spec has times of the holder's clock, for people.
type spec struct {
	HolderIdentity       *string `json:"holderIdentity"`
	LeaseDurationSeconds int     `json:"leaseDurationSeconds,omitempty"`
	AcquireTime          string  `json:"acquireTime,omitempty"`
	RenewTime            string  `json:"renewTime,omitempty"`
	LeaseTransitions     int     `json:"leaseTransitions,omitempty"`
}

// holder returns "" for a free Lease.
func (o object) holder() string {
	if o.Spec.HolderIdentity == nil {
		return ""
	}
	return *o.Spec.HolderIdentity
}

type statusError struct {
	Code    int    `json:"code"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

func (e *statusError) Error() string {
	return fmt.Sprintf("%d %s: %s", e.Code, e.Reason, e.Message)
}

// api reads and writes the Leases of one group.
type api struct {
	client *http.Client
	base   string
	group  string
}

func newAPI(o Options) *api {
	return &api{
		client: o.Client, group: o.Group,
		base: strings.TrimSuffix(o.URL, "/") + "/apis/coordination.k8s.io/v1/namespaces/" +
			url.PathEscape(o.Namespace) + "/leases",
	}
}

func (a *api) get(ctx context.Context, name string) (o object, err error) {
	err = a.do(ctx, http.MethodGet, "/"+name, "", nil, &o)
	return o, err
}

func (a *api) create(ctx context.Context, name string, s spec) (o object, err error) {
	body := struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		object
	}{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"}
	body.Metadata.Name, body.Metadata.Labels, body.Spec = name, map[string]string{labelGroup: a.group}, s
	err = a.do(ctx, http.MethodPost, "", "application/json", body, &o)
	return o, err
}

// patch changes a Lease that has this version.
func (a *api) patch(ctx context.Context, name, version string, s spec) (o object, err error) {
	var change object
	change.Metadata.ResourceVersion, change.Spec = version, s
	err = a.do(ctx, http.MethodPatch, "/"+name, "application/merge-patch+json", change, &o)
	return o, err
}

func (a *api) do(ctx context.Context, method, path, contentType string, in, out any) error {
	resp, err := a.send(ctx, method, path, contentType, in)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(out)
}

// send returns the answer, or a refusal as a [*statusError]. It sends a request again if there was
// no answer, as at a restart of the server, unless it could not dial. If the first patch or create
// was carried out, the second one is a conflict.
func (a *api) send(ctx context.Context, method, path, contentType string, in any) (*http.Response, error) {
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, a.base+path, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "evenkeel-k8sturn")
	req.Header["X-Idempotency-Key"] = nil // not sent: has net/http send again
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	resp, err := a.client.Do(req)
	if err != nil && !isDial(err) && ctx.Err() == nil {
		again := req.Clone(ctx)
		if req.GetBody != nil {
			again.Body, _ = req.GetBody()
		}
		resp, err = a.client.Do(again)
	}
	if err != nil || resp.StatusCode/100 == 2 {
		return resp, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, err
	}
	refusal := new(statusError)
	if err := json.Unmarshal(text, refusal); err != nil || refusal.Code == 0 {
		refusal.Message = fmt.Sprintf("%.200s", text)
	}
	refusal.Code = resp.StatusCode
	return nil, refusal
}

func isDial(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}
