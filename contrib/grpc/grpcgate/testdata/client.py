"""A gRPC client in Python: calls both replicas until its input ends, and says how many calls failed.

Usage: client.py HOST:PORT,HOST:PORT SERVICE_CONFIG
"""

import json
import sys
import threading

import grpc

addresses, config = sys.argv[1:3]
channel = grpc.insecure_channel("ipv4:" + addresses, options=[("grpc.service_config", config)])
call = channel.unary_unary("/grpc.testing.TestService/EmptyCall", request_serializer=bytes, response_deserializer=bytes)
over = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), over.set()), daemon=True).start()

calls, failed, first = 0, 0, ""
while not over.wait(0.001):
    calls += 1
    try:
        call(b"", timeout=60)
    except grpc.RpcError as err:
        failed += 1
        first = first or str(err)
    if calls == 1:
        print("calling", flush=True)
print(json.dumps({"calls": calls, "failed": failed, "first": first, "version": grpc.__version__}))
channel.close()
