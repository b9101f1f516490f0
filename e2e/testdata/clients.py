"""What clients in Python get: clients.py LIBRARY URL PROTO CERT FILE. It fails with what is wrong."""

import hashlib
import http.client
import socket
import ssl
import sys
import threading
import urllib.error
import urllib.request
from urllib.parse import urlsplit

library, url, proto, cert, path = sys.argv[1:]
at = urlsplit(url)
with open(path, "rb") as f:
    data = f.read()
context = ssl.create_default_context(cafile=cert) if at.scheme == "https" else None
patience = 60


def digest(body):
    return f"{len(body)} {hashlib.sha256(body).hexdigest()}"


def hello(n):
    return f"hello {n} by {proto}"


def same(got, want, what):
    if got != want:
        raise AssertionError(f"{library}, {what}: {got!r:.200}, want {want!r:.200}")


def pieces(n=10_000):
    for i in range(0, len(data), n):
        yield data[i : i + n]


def dial():
    sock = socket.create_connection((at.hostname, at.port), patience)
    return context.wrap_socket(sock, server_hostname=at.hostname) if context else sock


def stdlib():
    def connect():
        if context:
            return http.client.HTTPSConnection(at.hostname, at.port, timeout=patience, context=context)
        return http.client.HTTPConnection(at.hostname, at.port, timeout=patience)

    c = connect()

    def ask(method, path, **more):
        c.request(method, path, **more)
        r = c.getresponse()
        return r, r.read()

    same(ask("GET", "/hello?n=0")[1], hello(0).encode(), "GET")
    sock = c.sock
    for n in range(1, 5):
        same(ask("GET", f"/hello?n={n}")[1], hello(n).encode(), "GET")
    r, body = ask("HEAD", "/file")
    same((r.status, r.getheader("Content-Length"), body), (200, str(len(data)), b""), "HEAD")
    r, body = ask("GET", "/empty")
    same((r.status, body), (204, b""), "204")
    r, body = ask("GET", "/redirect")
    same((r.status, r.getheader("Location")), (302, "/hello?n=redirected"), "a redirect")
    same(ask("POST", "/digest", body=data)[1].decode(), "POST " + digest(data), "POST")
    r, body = ask("POST", "/digest", body=pieces(), encode_chunked=True, headers={"Transfer-Encoding": "chunked"})
    same((r.getheader("X-Encoding"), body.decode()), ("[chunked]", "POST " + digest(data)), "chunks")
    r, body = ask("GET", "/file", headers={"Range": "bytes=-100"})
    same((r.status, body), (206, data[-100:]), "a range")
    same(ask("GET", "/file")[1], data, "a file")
    same(ask("GET", "/trailers")[1], b"body", "trailers that are not looked at")

    c.putrequest("POST", "/digest")
    c.putheader("Expect", "100-continue")
    c.putheader("Content-Length", "5")
    c.endheaders()
    interim = b""
    while not interim.endswith(b"\r\n\r\n"):
        interim += c.sock.recv(1)
    same(interim, b"HTTP/1.1 100 Continue\r\n\r\n", "100-continue")
    c.send(b"hello")
    same(c.getresponse().read().decode(), "POST " + digest(b"hello"), "the body after 100-continue")

    c.putrequest("POST", "/digest")
    c.putheader("Transfer-Encoding", "chunked")
    c.putheader("Trailer", "X-Sum")
    c.endheaders()
    c.send(b"5\r\nhello\r\n0\r\nX-Sum: 5\r\n\r\n")
    r = c.getresponse()
    same((r.getheader("X-Trailer"), r.read().decode()), ("5", "POST " + digest(b"hello")), "a request's trailers")

    c.request("GET", "/events?stream=" + id_of())
    r = c.getresponse()
    for n in range(3):
        same((r.readline(), r.readline()), (f"data: {n}\n".encode(), b"\n"), "an event")
        seen()
    same(r.read(), b"", "the events' end")
    same(c.sock, sock, "the connection, from the first request on")
    r, _ = ask("GET", "/hello?n=5", headers={"Connection": "close"})
    same((r.will_close, sock.fileno()), (True, -1), "the client closes")
    r, _ = ask("GET", "/close")
    same((r.getheader("Connection"), c.sock), ("close", None), "the server closes")

    with dial() as raw, raw.makefile("rb") as answers:
        raw.sendall(b"".join(b"GET /hello?n=%d HTTP/1.1\r\nHost: x\r\n\r\n" % n for n in range(50)))
        for n in range(50):
            same(answers.readline(), b"HTTP/1.1 200 OK\r\n", "a pipelined answer")
            size = int(http.client.parse_headers(answers)["Content-Length"])
            same(answers.read(size).decode(), hello(n), "a pipelined answer")

    with urllib.request.urlopen(url + "/redirect", timeout=patience, context=context) as r:
        same(r.read().decode(), hello("redirected"), "urllib")
    try:
        urllib.request.urlopen(url + "/refuse", data=data[:100], timeout=patience, context=context)
        raise AssertionError("urllib: no error")
    except urllib.error.HTTPError as e:
        same((e.code, e.read()), (413, b"no\n"), "urllib's error")


def id_of():
    return f"{library}-{at.scheme}-{proto}"


def seen():
    own = ssl.create_default_context(cafile=cert) if context else None  # httpx has the other one agree on HTTP/2
    urllib.request.urlopen(url + "/seen?stream=" + id_of(), data=b"", timeout=patience, context=own).close()


def common(s, body, stream):
    """What requests and httpx have in common; body is how a request's is called."""
    for n in range(5):
        same(s.get(url + f"/hello?n={n}").text, hello(n), "GET")
    r = s.head(url + "/file")
    same((r.status_code, r.headers["Content-Length"], r.content), (200, str(len(data)), b""), "HEAD")
    same(s.get(url + "/empty").status_code, 204, "204")
    r = s.get(url + "/redirect")
    same((r.text, len(r.history)), (hello("redirected"), 1), "a redirect")
    same(s.post(url + "/digest", **{body: data}).text, "POST " + digest(data), "POST")
    same(s.post(url + "/digest", **{body: pieces()}).text, "POST " + digest(data), "a body of unknown length")
    same(s.post(url + "/moved", **{body: data}).text, "POST " + digest(data), "307")
    same(s.get(url + "/file", headers={"Range": "bytes=100-199"}).content, data[100:200], "a range")
    same(s.get(url + "/file").content, data, "a file")
    same(s.get(url + "/trailers").text, "body", "trailers that are not looked at")
    n = 0
    with stream(url + "/events?stream=" + id_of()) as r:
        for line in r.iter_lines():
            line = line.decode() if isinstance(line, bytes) else line
            if line:
                same(line, f"data: {n}", "an event")
                n += 1
                seen()
    same(n, 3, "events")
    if proto == "HTTP/1.1":
        same(s.get(url + "/close").text, "closed", "the server closes")
        same(s.get(url + "/hello?n=6", headers={"Connection": "close"}).text, hello(6), "the client closes")
    threads = [threading.Thread(target=lambda n=n: wrong.extend(at_once(s, n))) for n in range(8)]
    wrong = []
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    same(wrong, [], "requests at once")


def at_once(s, n):
    got = [s.get(url + f"/hello?n={n}-{i}").text for i in range(10)]
    return [g for i, g in enumerate(got) if g != hello(f"{n}-{i}")]


def requests():
    import requests

    with requests.Session() as s:
        s.verify = cert
        s.trust_env = False
        common(s, "data", lambda url: s.get(url, stream=True))


def httpx():
    import httpx

    second = proto == "HTTP/2.0"
    with httpx.Client(http1=not second, http2=second, verify=context or True, follow_redirects=True, timeout=patience, trust_env=False) as s:
        same(s.get(url + "/hello").http_version, proto.replace("2.0", "2"), "the version")
        common(s, "content", lambda url: s.stream("GET", url))


{"stdlib": stdlib, "requests": requests, "httpx": httpx}[library]()
