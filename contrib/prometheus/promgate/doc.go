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
//	evenkeel_gate_policy_info{policy}
//	evenkeel_gate_state{state}
//	evenkeel_gate_requests_total
//	evenkeel_gate_requests_in_flight
//	evenkeel_gate_oldest_request_seconds
//	evenkeel_gate_overlapped_requests_total{collection}
//	evenkeel_gate_straggler_requests_total
//	evenkeel_gate_refused_requests_total
//	evenkeel_gate_collections_total{reason}
//	evenkeel_gate_escaped_collections_total
//	evenkeel_gate_ignored_drains_total
//	evenkeel_gate_collections_without_turn_total
//	evenkeel_gate_lost_turns_total
//	evenkeel_gate_phase_seconds{state}
//	evenkeel_gate_phase_max_seconds{state}
//	evenkeel_gate_collection_expected_seconds
//	evenkeel_gate_next_collection_timestamp_seconds
//	evenkeel_gate_heap_bytes
//	evenkeel_gate_heap_live_bytes
//	evenkeel_gate_heap_trigger_bytes
//	evenkeel_gate_heap_hard_bytes
//	evenkeel_gate_memory_limit_bytes
//	evenkeel_gate_allocated_bytes_total
//	evenkeel_gate_turn_held_seconds
//	evenkeel_gate_turn_held_max_seconds
//	evenkeel_gate_turn_held_up_seconds
//	evenkeel_gate_turns_held
//	evenkeel_gate_turns
//	evenkeel_gate_replicas
//	evenkeel_gate_turn_load_ratio
//	evenkeel_gate_turn_longest_wait_seconds
//	evenkeel_gate_turn_spare_seconds
//	evenkeel_gate_advice
package promgate
