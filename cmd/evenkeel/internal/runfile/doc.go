// Package runfile reads, checks, merges and writes run.json, and reads events files.
package runfile
