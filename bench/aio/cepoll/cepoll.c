// The server has one thread, and one buffer for all connections. What a socket does not take at once
// waits in a buffer of the connection's own. The first line that it prints is its address.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BUFFER = 64 << 10, EVENTS = 1024, MOST = 1 << 20 };

// conn is the state by descriptor: what is left to write.
struct conn {
	char *left;
	size_t at, len;
};

static struct conn *conns;
static char buffer[BUFFER];

static void fail(const char *what) {
	perror(what);
	exit(1);
}

static void drop(int fd) {
	free(conns[fd].left);
	memset(&conns[fd], 0, sizeof conns[fd]);
	close(fd);
}

// flush writes what is left: 1 when nothing is any more, 0 when the socket is full, -1 on error.
static int flush(int fd) {
	struct conn *c = &conns[fd];
	while (c->at < c->len) {
		ssize_t n = send(fd, c->left + c->at, c->len - c->at, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR) continue;
		if (n < 0) return errno == EAGAIN ? 0 : -1;
		c->at += (size_t)n;
	}
	free(c->left);
	memset(c, 0, sizeof *c);
	return 1;
}

// keep keeps what send did not take.
static int keep(int fd, const char *from, size_t n) {
	struct conn *c = &conns[fd];
	if (!(c->left = malloc(n))) return -1;
	memcpy(c->left, from, n);
	c->len = n;
	return 0;
}

// serve echoes until the socket has no more, or takes no more. A peer that is gone is noticed by
// reading on: no edge follows the one that said so.
static void serve(int fd, int gone) {
	if (conns[fd].left) {
		int r = flush(fd);
		if (r < 0) drop(fd);
		if (r <= 0) return;
	}
	for (;;) {
		ssize_t n = recv(fd, buffer, BUFFER, 0);
		if (n < 0 && errno == EINTR) continue;
		if (n < 0 && errno == EAGAIN) return;
		if (n <= 0) return drop(fd);
		ssize_t sent = send(fd, buffer, (size_t)n, MSG_NOSIGNAL);
		if (sent < 0 && errno != EAGAIN && errno != EINTR) return drop(fd);
		if (sent < 0) sent = 0;
		if (sent == n) {
			// A short read has emptied the socket: a new edge follows new data.
			if (n < BUFFER && !gone) return;
			continue;
		}
		if (keep(fd, buffer + sent, (size_t)(n - sent)) < 0) return drop(fd);
		int r = flush(fd);
		if (r < 0) drop(fd);
		if (r <= 0) return;
	}
}

static void welcome(int ep, int ln) {
	for (;;) {
		int fd = accept4(ln, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd < 0 && errno == EINTR) continue;
		if (fd < 0 && errno == EAGAIN) return;
		if (fd < 0) fail("cepoll: accept");
		int one = 1;
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
		struct epoll_event e = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.fd = fd};
		if (fd >= MOST || epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e) < 0) fail("cepoll: epoll_ctl");
	}
}

static int start(void) {
	int ln = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), one = 1;
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof a;
	setsockopt(ln, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (bind(ln, (struct sockaddr *)&a, sizeof a) < 0 || listen(ln, 4096) < 0) fail("cepoll: listen");
	if (getsockname(ln, (struct sockaddr *)&a, &len) < 0) fail("cepoll: getsockname");
	printf("127.0.0.1:%d\n", ntohs(a.sin_port));
	fflush(stdout);
	return ln;
}

void cepoll(void) {
	if (!(conns = calloc(MOST, sizeof *conns))) fail("cepoll: calloc");
	int ln = start(), ep = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event e = {.events = EPOLLIN, .data.fd = ln}, es[EVENTS];
	if (ep < 0 || epoll_ctl(ep, EPOLL_CTL_ADD, ln, &e) < 0) fail("cepoll: epoll");
	for (;;) {
		int n = epoll_wait(ep, es, EVENTS, -1);
		if (n < 0 && errno != EINTR) fail("cepoll: epoll_wait");
		for (int i = 0; i < n; i++) {
			if (es[i].data.fd == ln) welcome(ep, ln);
			else serve(es[i].data.fd, (es[i].events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0);
		}
	}
}
