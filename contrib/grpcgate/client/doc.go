// Package client has what a gRPC client needs so that it hears of collections: [ServiceConfig],
// and the health checking of google.golang.org/grpc/health, which importing this package switches
// on. It imports nothing of the gate.
//
//	conn, err := grpc.NewClient("dns:///search:443", grpc.WithDefaultServiceConfig(client.ServiceConfig), ...)
//
// The target must resolve to the addresses of all replicas: in Kubernetes to a headless service's,
// since one address has nobody to take its place. Clients in other languages read the same text,
// as the channel argument grpc.service_config, and so does a TXT record or an xDS server that
// hands service configurations out. Not all of them check health: C++, Python, Ruby, PHP, C#
// (over C-core), Java and Go do.
//
// A resolver that has a service configuration of its own takes the place of the default one. Put
// healthCheckConfig and the policy into that then.
package client
