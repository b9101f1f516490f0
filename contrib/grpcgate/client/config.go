package client

import _ "google.golang.org/grpc/health" // without it a Go client ignores healthCheckConfig

// ServiceConfig is the service configuration (JSON) with which a client opens a health Watch to
// each replica, and sends its calls by turns to those that serve. Both parts are needed: the policy
// pick_first, which is the default, watches nobody.
//
// The service's name is empty, which is the whole server's health. For that of one service, write
// its name there.
//
// Source: gRFC A17, Client-Side Health Checking; doc/service_config.md of gRPC.
const ServiceConfig = `{"loadBalancingConfig":[{"round_robin":{}}],"healthCheckConfig":{"serviceName":""}}`
