// Package polled tracks peers that poll a process: load balancers that ask again and again whether
// to send it requests.
//
// Such a peer learns of a drain only from the answer to its next poll. [Peers] works out whether a
// peer has acted: from its polls, from the answers that it got, from what it says itself, and from
// the requests that come. A signal answers each poll between [Peers.Begin] and [Peers.Answered].
//
// A peer is an address, because connections come and go. Peers assumes that it polls one at a time,
// so one that begins a poll has acted on the answers before. If several poll from one address
// ([Demand].Pollers), Peers assumes that they poll equally often.
//
// Peers remembers 64 addresses with their last 16 polls. It answers "ready" to any other address.
package polled
