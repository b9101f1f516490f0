// Package turntest tries implementations of gcgate.Turns, as testing/slogtest tries handlers of
// log/slog: that never more replicas hold a turn than may, that a turn that is released is free,
// and that who gives up leaves nothing behind.
//
// [Check] is for a test of the implementation's own, with the real arbiter behind it. What happens
// when the arbiter dies, or its answers are lost, depends on the arbiter, and is left to that test.
package turntest
