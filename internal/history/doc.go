// Package history keeps what made a service's requests slow, over hours and deployments. It
// combines many short traces, such as the snapshots of package reqtrace/recorder.
//
// [Head.Explain] assigns each slow request of a trace to one cause. A [History] counts these
// requests by hour, class and cause. It counts a request once, even if traces overlap. A [Key]
// identifies a cause by functions and not by lines, so it survives a deployment. A [Store] is a
// History on disk. [History.Merge] adds up the histories of several replicas.
//
// A history also counts the slow requests that no trace explains, and why ([Coverage]). In the
// shares of causes, the explained requests of a class stand for the rest of the class.
//
// # Bounds
//
// A history keeps 168 hours, or as many as fit into 8 MiB. An hour has at most 64 causes and 64
// classes. Beyond that, those with the fewest requests are counted together as [Others]. The last
// 48 hours keep minutes apart.
//
// # Names
//
// A history has names of functions, files with lines, routes, the marks that a service gives its
// requests, and the ids of their traces. It has no bodies, headers or queries.
package history
