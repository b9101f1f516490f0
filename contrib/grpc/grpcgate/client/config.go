package client

import _ "google.golang.org/grpc/health" // a Go client ignores healthCheckConfig without it

// ServiceConfig is the service configuration (JSON) of a client that watches the health of each
// replica, and sends its calls to those that serve. The default policy, pick_first, does not watch.
//
// An empty service name means the whole server's health.
const ServiceConfig = `{"loadBalancingConfig":[{"round_robin":{}}],"healthCheckConfig":{"serviceName":""}}`
