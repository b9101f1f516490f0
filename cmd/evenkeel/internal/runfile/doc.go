// Package runfile is run.json: the runs that evenkeel measured, the machine that they were measured
// on, and the events file that may be placed beside them. It reads them, checks them, and writes
// files whole or not at all.
package runfile
