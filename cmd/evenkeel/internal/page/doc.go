// Package page writes pages that load nothing: [Compare] for runs side by side, [Explain] for the
// verdict on a trace, and [Change] for what differs between two versions.
package page
