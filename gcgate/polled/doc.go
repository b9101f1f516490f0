// Package polled keeps track of peers that poll a process: load balancers that ask, time and again,
// whether to send it requests.
//
// Such a peer hears something only in the answer to its next poll. So an announcement takes until
// each has polled again. [Peers] works out whether a peer has acted from when it polls, which
// answers it got, what it says itself, and from the requests that come.
//
// A signal of gcgate that is polled, over whatever protocol, answers each poll between
// [Peers.Begin] and [Peers.Answered], and hands its own Drain, Ready and CanConfirm on to those of
// Peers. evenkeel.dev/gcgate/health and the agent-check of evenkeel.dev/gcgate/haproxy are made of
// it. [Allowed] says who may poll; [Strangers] counts and logs those who may not, and says what to
// do in the errors of Peers.
//
// A peer is an address, because connections come and go. Peers assumes that it polls one at a time,
// so one that begins a poll has acted on the answers of before. If several poll from one address
// ([Demand].Pollers), Peers assumes that each polls as often as the others, and estimates which
// have polled again.
//
// Peers remembers at most 64 addresses with their last 16 polls. One more is answered "ready" at
// all times, and no announcement waits for it.
package polled
