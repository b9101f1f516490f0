// Package feed fetches RSS 2.0 feeds and keeps a copy of each. Three things about [Cache] are worth
// copying:
//
//   - It does not hold its lock while it fetches. Requests get the old copy during a refresh.
//     [Options.HoldLock] makes that mistake, which evenkeel explain finds.
//   - At most one goroutine refreshes.
//   - A feed that fails is tried again after a back-off, and its last good copy stays in use.
//
// Bytes, items and lengths are bounded, links are http or https, and mark-up is removed. A page has
// to escape the texts.
package feed
