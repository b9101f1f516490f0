// Package history keeps what made a service's requests slow, over hours and deployments: out of
// many short traces, such as package reqtrace/recorder's snapshots, one answer.
//
// [Explain] takes the requests of one trace. Each that took longer than a threshold goes to one
// cause: the one that took most beyond what it takes of the usual request of its class. A [History]
// counts them by hour, class and cause, once each though traces overlap, and says of each cause how
// many there were, what they lost, when the first and the last was seen, and which was the worst. A
// [Key] tells causes apart by functions and not by lines, so that it survives a deployment.
//
// A [Store] is a History on disk: bounded, and readable after the process was killed. Histories of
// several replicas add up by [History.Merge], exactly. [WritePage] shows one as a page.
//
// # What is not seen
//
// A trace shows what happened in its window. So a history counts also the slow requests that the
// service's own clock saw, and why there is no explanation of some ([Coverage]). In the shares of
// causes, what is explained of a class of requests stands for the rest of the class.
//
// # Bounds
//
// An hour has at most Options.Keys causes; what is beyond, those with the fewest requests, is
// counted together as [Others]. It has at most 64 classes, the rest likewise. Minutes are told
// apart in the last 48 hours, hours before that. When all takes more than Options.MaxBytes, minutes
// are told apart in fewer, then the oldest hours go, as they do when there are more than
// Options.Hours, and of the last one the causes with the fewest requests.
//
// # Names
//
// A history has names of functions, files with lines, routes, the marks that a service gives its
// requests, and the ids of their traces. It has no bodies, headers or queries, unless the program
// writes them into those.
package history
