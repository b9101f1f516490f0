// Package promgate exports what a gate of evenkeel.dev/gcgate does to Prometheus:
//
//	registry.MustRegister(promgate.New(gate))
//
// A figure that is not known has no sample, rather than a 0. Examples are the load of turns that
// were never held, and a memory limit that is not set.
//
// # Metrics
//
// All of [gcgate.Stats] except the words of its Advice. Counters begin with the gate.
//
//	evenkeel_gate_policy_info{policy}                 1 for the policy that it has chosen
//	evenkeel_gate_state{state}                       1 for the state that it is in, 0 for the others
//	evenkeel_gate_requests_total                      requests that entered
//	evenkeel_gate_requests_in_flight
//	evenkeel_gate_oldest_request_seconds    how long the oldest of them has been in flight, at least
//	evenkeel_gate_overlapped_requests_total{collection}  of them, those that overlapped one
//	evenkeel_gate_straggler_requests_total            entered while the gate was collecting
//	evenkeel_gate_refused_requests_total              refused under PolicyShed
//	evenkeel_gate_collections_total{reason}           the gate's own, by why
//	evenkeel_gate_escaped_collections_total           that the runtime began by itself
//	evenkeel_gate_ignored_drains_total                before or during which requests kept coming
//	evenkeel_gate_collections_without_turn_total
//	evenkeel_gate_lost_turns_total                    turns that were lost while they were held
//	evenkeel_gate_phase_seconds{state}           summary: time in a state, of collections that ended
//	evenkeel_gate_phase_max_seconds{state}            the longest since the start
//	evenkeel_gate_collection_expected_seconds     how long the next one takes, from its announcement
//	evenkeel_gate_next_collection_timestamp_seconds   when it is expected
//	evenkeel_gate_heap_bytes                          objects, dead ones included
//	evenkeel_gate_heap_live_bytes                     after the last collection
//	evenkeel_gate_heap_trigger_bytes                  at which a collection is due
//	evenkeel_gate_heap_hard_bytes                     at which it does not wait for a turn
//	evenkeel_gate_memory_limit_bytes
//	evenkeel_gate_allocated_bytes_total               since the process began
//	evenkeel_gate_turn_held_seconds                  summary: for which this replica has held a turn
//	evenkeel_gate_turn_held_max_seconds
//	evenkeel_gate_turn_held_up_seconds   the turn, or the wait for it, by one peer or holder; 0: not
//	evenkeel_gate_turns_held                          that it holds now
//	evenkeel_gate_turns                               how many may be held at once
//	evenkeel_gate_replicas
//	evenkeel_gate_turn_load_ratio     share of time with all turns held; above 1 they do not suffice
//	evenkeel_gate_turn_longest_wait_seconds           if all replicas wanted a turn at once
//	evenkeel_gate_turn_spare_seconds      that the heap takes from the trigger to the hard threshold
//	evenkeel_gate_advice                              1 while the gate's page has advice
package promgate
