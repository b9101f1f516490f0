// Package otelgate exports what a gate of evenkeel.dev/gcgate does to OpenTelemetry:
//
//	registration, err := otelgate.Register(gate, nil)
//
// # Metrics
//
// All of [gcgate.Stats] except the words of its Advice. A figure that is not known has no point.
// Each metric has a description. Attributes are in braces.
//
//	evenkeel.gate.policy{evenkeel.gate.policy}    1
//	evenkeel.gate.state{evenkeel.gate.state}      1
//	evenkeel.gate.requests                        {request}
//	evenkeel.gate.requests.active                 {request}
//	evenkeel.gate.requests.oldest                 s
//	evenkeel.gate.requests.overlapped{evenkeel.gate.collection}  {request}
//	evenkeel.gate.requests.stragglers             {request}
//	evenkeel.gate.requests.refused                {request}
//	evenkeel.gate.collections{evenkeel.gate.reason}  {collection}
//	evenkeel.gate.collections.escaped             {collection}
//	evenkeel.gate.drains.ignored                  {collection}
//	evenkeel.gate.collections.without_turn        {collection}
//	evenkeel.gate.collection.expected             s
//	evenkeel.gate.collection.next                 s
//	evenkeel.gate.phase.count{evenkeel.gate.state}  {phase}
//	evenkeel.gate.phase.time{evenkeel.gate.state} s
//	evenkeel.gate.phase.max{evenkeel.gate.state}  s
//	evenkeel.gate.heap                            By
//	evenkeel.gate.heap.live                       By
//	evenkeel.gate.heap.trigger                    By
//	evenkeel.gate.heap.hard                       By
//	evenkeel.gate.memory.limit                    By
//	evenkeel.gate.allocated                       By
//	evenkeel.gate.turn.count                      {turn}
//	evenkeel.gate.turn.time                       s
//	evenkeel.gate.turn.max                        s
//	evenkeel.gate.turn.held_up                    s
//	evenkeel.gate.turn.held                       {turn}
//	evenkeel.gate.turn.lost                       {turn}
//	evenkeel.gate.turn.limit                      {turn}
//	evenkeel.gate.turn.load                       1
//	evenkeel.gate.turn.longest_wait               s
//	evenkeel.gate.turn.spare                      s
//	evenkeel.gate.replicas                        {replica}
//	evenkeel.gate.advice                          1
package otelgate
