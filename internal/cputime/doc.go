// Package cputime says what CPU time this process has taken.
package cputime
