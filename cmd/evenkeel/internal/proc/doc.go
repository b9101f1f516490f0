// Package proc starts a command in its own process group, and ends all of the group.
package proc
