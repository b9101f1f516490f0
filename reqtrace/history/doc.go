// Package history keeps what made a service's requests slow, over hours and deployments. It
// combines many short traces, such as package reqtrace/recorder's snapshots, into one answer.
//
// [Explain] takes the requests of one trace. It assigns each request that took longer than a
// threshold to one cause. That is the cause that took most beyond what it takes of the usual
// request of its class. A [History] counts these requests by hour, class and cause. It counts a
// request once, even if traces overlap. For each cause it keeps how many requests there were, how
// much they lost, the first and the last time, and the worst request. A [Key] identifies a cause by
// functions and not by lines, so it survives a deployment.
//
// A [Store] is a History on disk. It is bounded, and readable after the process was killed.
// [History.Merge] adds up the histories of several replicas exactly. [WritePage] writes one as a
// page.
//
// # What is not seen
//
// A trace shows what happened in its window. So a history also counts the slow requests that the
// service's own clock saw, and why some are not explained ([Coverage]). In the shares of causes,
// the explained requests of a class stand for the rest of the class.
//
// # Bounds
//
// An hour has at most Options.Keys causes. The causes with the fewest requests beyond that are
// counted together as [Others]. An hour has at most 64 classes, with the same rule. The last 48
// hours keep minutes apart, and earlier ones only hours. If everything takes more than
// Options.MaxBytes, fewer hours keep their minutes. Then the oldest hours go, and finally the
// causes of the last hour that have the fewest requests. The oldest hours also go if there are more
// than Options.Hours.
//
// # Names
//
// A history has names of functions, files with lines, routes, the marks that a service gives its
// requests, and the ids of their traces. It has no bodies, headers or queries, unless the program
// writes them into those.
package history
