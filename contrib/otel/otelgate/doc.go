// Package otelgate exports what a gate of evenkeel.dev/gcgate does to OpenTelemetry:
//
//	registration, err := otelgate.Register(gate, nil)
//
// # Metrics
//
// All of [gcgate.Stats] except the words of its Advice. A figure that is not known has no point.
// Attributes are in braces. Names follow
// https://opentelemetry.io/docs/specs/semconv/general/metrics/ and /naming/.
//
//	evenkeel.gate.policy{evenkeel.gate.policy}    1 for the policy that it has chosen
//	evenkeel.gate.state{evenkeel.gate.state}      1 for the state that it is in, 0 for the others
//	evenkeel.gate.requests                        {request}, that entered
//	evenkeel.gate.requests.active                 {request}, in flight
//	evenkeel.gate.requests.oldest        s, how long the oldest of them has been in flight, at least
//	evenkeel.gate.requests.overlapped{evenkeel.gate.collection}  {request}, in a collection
//	evenkeel.gate.requests.stragglers          {request}, that entered while the gate was collecting
//	evenkeel.gate.requests.refused                {request}, under PolicyShed
//	evenkeel.gate.collections{evenkeel.gate.reason}  {collection}, the gate's own
//	evenkeel.gate.collections.escaped             {collection}, that the runtime began by itself
//	evenkeel.gate.drains.ignored           {collection}, before or during which requests kept coming
//	evenkeel.gate.collections.without_turn        {collection}
//	evenkeel.gate.collection.expected             s, that the next one takes, from its announcement
//	evenkeel.gate.collection.next                 s, from now until it
//	evenkeel.gate.phase.count{evenkeel.gate.state}  {phase}, of collections that ended
//	evenkeel.gate.phase.time{evenkeel.gate.state}  s
//	evenkeel.gate.phase.max{evenkeel.gate.state}  s
//	evenkeel.gate.heap                            By, objects, dead ones included
//	evenkeel.gate.heap.live                       By, after the last collection
//	evenkeel.gate.heap.trigger                    By, at which a collection is due
//	evenkeel.gate.heap.hard                       By, at which it does not wait for a turn
//	evenkeel.gate.memory.limit                    By
//	evenkeel.gate.allocated                       By, since the process began
//	evenkeel.gate.turn.count                      {turn}, that this replica has held
//	evenkeel.gate.turn.time                       s, for which it has
//	evenkeel.gate.turn.max                        s
//	evenkeel.gate.turn.held_up        s, the turn, or the wait for it, by one peer or holder; 0: not
//	evenkeel.gate.turn.held                       {turn}, that it holds now
//	evenkeel.gate.turn.lost                       {turn}, while they were held
//	evenkeel.gate.turn.limit                      {turn}, that may be held at once
//	evenkeel.gate.turn.load              1, share of time with all held; above 1 they do not suffice
//	evenkeel.gate.turn.longest_wait               s, if all replicas wanted one at once
//	evenkeel.gate.turn.spare           s, that the heap takes from the trigger to the hard threshold
//	evenkeel.gate.replicas                        {replica}
//	evenkeel.gate.advice                          1 while the gate's page has advice
package otelgate
