// Package feed fetches RSS 2.0 feeds and keeps a copy of each.
//
// [Parse] reads a document, [HTTP] fetches one, and [Cache] keeps what was fetched for 15
// minutes. Three things about the cache are worth copying:
//
//   - Its lock is never held while a feed is fetched. Requests that come during a refresh
//     are answered from the old copy; a lock held across the fetch would queue them all
//     behind it, and that queue, not the collector, would be the tail.
//     [Options.HoldLock] makes that mistake, so that evenkeel explain can be seen to find it.
//   - At most one goroutine refreshes, however many requests find the copy too old.
//   - A feed that fails is tried again after a back-off that doubles, not at each request,
//     and its last good copy stays in use.
//
// What a feed says is not trusted: bytes, items and lengths are bounded, links are http or
// https, and mark-up is removed. The texts may still hold any character, so a page has to
// escape them.
package feed
