// Package client has what a gRPC client needs to hear of collections:
//
//	conn, err := grpc.NewClient("dns:///search:443", grpc.WithDefaultServiceConfig(client.ServiceConfig), ...)
//
// The target must resolve to the addresses of all replicas, as a headless service of Kubernetes
// does. Clients in C++, Python, Ruby, PHP, C# (over C-core) and Java take the same text as the
// channel argument grpc.service_config, from a TXT record, or from an xDS server.
//
// The service configuration of a resolver replaces the default one. Put healthCheckConfig and the
// policy into it.
package client

import (
	_ "google.golang.org/grpc/health" // a Go client ignores healthCheckConfig without it
)

// ServiceConfig is the service configuration (JSON) of a client that watches the health of each
// replica, and calls those that serve. The default policy, pick_first, does not watch. The empty
// service name means the whole server.
const ServiceConfig = `{"loadBalancingConfig":[{"round_robin":{}}],"healthCheckConfig":{"serviceName":""}}`
