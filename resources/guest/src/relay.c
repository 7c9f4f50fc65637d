/* The way out for programs that know no proxy. DNS on 127.0.0.1:53 answers every A question with a synthetic address
 * of 198.18.0.0/15; TCP redirected to KIT_RELAY_PORT becomes "CONNECT name:port" to the proxy at KIT_PROXY_PORT.
 * Nothing is decided here: the guest is not trusted, the proxy decides. Every table has a fixed size.
 */
#define _GNU_SOURCE
#include "kit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define ORIGINAL_DST 80
#define MAX_CONNECTIONS 1024
#define MAX_NAMES 8192
#define MAX_BUCKETS 4096
#define FIRST_ADDRESS 0xc6120001u /* 198.18.0.1 */
#define BLOCK 32768
#define MAX_ANSWER 4096

struct name {
    char text[254];
    int chain, older, newer;
};

struct side {
    int fd, ended, shut;
    uint32_t events;
    size_t start, end;
    char *data; /* read from this side, not yet written to the other */
};

struct connection {
    struct side client, proxy;
    int answered;
    char request[320];
    size_t request_size, request_sent;
    size_t answer_size;
    char answer[MAX_ANSWER];
};

static struct name *names;
static int buckets[MAX_BUCKETS], name_count, oldest = -1, newest = -1;
static int connection_count, poller;

/* ---- names and their addresses ---- */

static unsigned hash(const char *text)
{
    unsigned value = 2166136261u;
    for (; *text; text++)
        value = (value ^ (unsigned char)*text) * 16777619u;
    return value % MAX_BUCKETS;
}

static void unlink_age(int i)
{
    if (names[i].older >= 0)
        names[names[i].older].newer = names[i].newer;
    else
        oldest = names[i].newer;
    if (names[i].newer >= 0)
        names[names[i].newer].older = names[i].older;
    else
        newest = names[i].older;
}

static void make_newest(int i)
{
    names[i].older = newest;
    names[i].newer = -1;
    if (newest >= 0)
        names[newest].newer = i;
    newest = i;
    if (oldest < 0)
        oldest = i;
}

static uint32_t address_of(const char *text)
{
    unsigned bucket = hash(text);
    for (int i = buckets[bucket]; i >= 0; i = names[i].chain)
        if (!strcmp(names[i].text, text)) {
            unlink_age(i);
            make_newest(i);
            return FIRST_ADDRESS + (uint32_t)i;
        }
    int i;
    if (name_count < MAX_NAMES) {
        i = name_count++;
    } else { /* the name unused for longest gives its address up */
        i = oldest;
        unlink_age(i);
        int *link = &buckets[hash(names[i].text)];
        while (*link != i)
            link = &names[*link].chain;
        *link = names[i].chain;
    }
    strcpy(names[i].text, text);
    names[i].chain = buckets[bucket];
    buckets[bucket] = i;
    make_newest(i);
    return FIRST_ADDRESS + (uint32_t)i;
}

static const char *name_of(uint32_t address)
{
    if (address < FIRST_ADDRESS || address >= FIRST_ADDRESS + (uint32_t)name_count)
        return NULL;
    int i = (int)(address - FIRST_ADDRESS);
    unlink_age(i);
    make_newest(i);
    return names[i].text;
}

/* ---- DNS ---- */

/* the question's name in lower case and the offset after it; -1 for what is no host name */
static int question(const uint8_t *packet, size_t size, char *name)
{
    size_t at = 12, used = 0;
    while (at < size && packet[at]) {
        size_t length = packet[at++];
        if (length > 63 || at + length >= size || used + length + 1 > 253)
            return -1;
        if (used)
            name[used++] = '.';
        for (size_t i = 0; i < length; i++) {
            char c = (char)packet[at++];
            if (c >= 'A' && c <= 'Z')
                c = (char)(c + 32);
            if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_'))
                return -1;
            name[used++] = c;
        }
    }
    name[used] = 0;
    return at + 5 <= size && used ? (int)at + 1 : -1;
}

static void answer_dns(int fd)
{
    uint8_t packet[1024];
    struct sockaddr_in from;
    socklen_t from_size = sizeof from;
    ssize_t size = recvfrom(fd, packet, 512, 0, (struct sockaddr *)&from, &from_size);
    if (size < 17 || packet[2] & 0x80 || packet[4] || packet[5] != 1)
        return;
    char name[256];
    int at = question(packet, (size_t)size, name), code = 0;
    size_t used = 12;
    uint32_t address = 0;
    if (at < 0) {
        code = 3;
        packet[5] = 0;
    } else {
        unsigned type = (unsigned)packet[at] << 8 | packet[at + 1], class = (unsigned)packet[at + 2] << 8 | packet[at + 3];
        size_t length = strlen(name);
        used = (size_t)at + 4;
        if (length > 5 && !strcmp(name + length - 5, ".arpa"))
            code = 3;
        else if (type == 1 && class == 1)
            address = !strcmp(name, "localhost") ? 0x7f000001u : address_of(name);
    }
    packet[2] = (uint8_t)(0x84 | (packet[2] & 0x79)); /* answer, authoritative; opcode and RD kept */
    packet[3] = (uint8_t)(0x80 | code);
    memset(packet + 6, 0, 6);
    if (address) {
        const uint8_t record[] = {0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 30, 0, 4};
        uint32_t wire = htonl(address);
        memcpy(packet + used, record, sizeof record);
        memcpy(packet + used + sizeof record, &wire, 4);
        used += sizeof record + 4;
        packet[7] = 1;
    }
    sendto(fd, packet, used, 0, (struct sockaddr *)&from, from_size);
}

/* ---- connections ---- */

static void reset(int fd)
{
    struct linger now = {1, 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close(fd);
}

static void watch(struct connection *connection, struct side *side, uint32_t events)
{
    /* the low bit of the pointer tells the sides apart */
    struct epoll_event event = {.events = events, .data.u64 = (uint64_t)(uintptr_t)connection | (side == &connection->proxy)};
    if (side->events == events)
        return;
    if (!events && connection->answered) { /* an ended side would report its end for ever */
        if (side->events != ~0u)
            epoll_ctl(poller, EPOLL_CTL_DEL, side->fd, NULL);
        side->events = ~0u;
        return;
    }
    epoll_ctl(poller, side->events == ~0u ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, side->fd, &event);
    side->events = events;
}

static void finish(struct connection *connection, int refused)
{
    if (refused)
        reset(connection->client.fd);
    else
        close(connection->client.fd);
    if (connection->proxy.fd >= 0)
        close(connection->proxy.fd);
    free(connection->client.data);
    free(connection->proxy.data);
    free(connection);
    connection_count--;
}

static void accept_one(int listener)
{
    struct sockaddr_in target, proxy = {.sin_family = AF_INET, .sin_port = htons(KIT_PROXY_PORT)};
    socklen_t size = sizeof target;
    int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0)
        return;
    if (connection_count >= MAX_CONNECTIONS || getsockopt(fd, SOL_IP, ORIGINAL_DST, &target, &size)) {
        reset(fd);
        return;
    }
    uint32_t address = ntohl(target.sin_addr.s_addr);
    const char *name = name_of(address);
    char literal[INET_ADDRSTRLEN];
    if (!name) {
        /* an address nobody asked for by name; one of ours that means nothing any more is refused here */
        if ((address & 0xfffe0000u) == 0xc6120000u || address == INADDR_LOOPBACK) {
            reset(fd);
            return;
        }
        name = inet_ntop(AF_INET, &target.sin_addr, literal, sizeof literal);
    }
    struct connection *connection = calloc(1, sizeof *connection);
    if (!connection) {
        reset(fd);
        return;
    }
    connection_count++;
    connection->client = (struct side){.fd = fd, .events = ~0u, .data = malloc(BLOCK)};
    connection->proxy = (struct side){.events = ~0u, .data = malloc(BLOCK)};
    connection->proxy.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    proxy.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    unsigned port = ntohs(target.sin_port);
    connection->request_size = (size_t)snprintf(connection->request, sizeof connection->request,
                                                "CONNECT %s:%u HTTP/1.1\r\nHost: ", name, port);
    /* the name is at most 253 bytes, so the Host line may not fit beside it: it is sent only when it does */
    size_t left = sizeof connection->request - connection->request_size;
    int added = snprintf(connection->request + connection->request_size, left, "%s:%u\r\n\r\n", name, port);
    if (added >= (int)left) {
        connection->request_size -= strlen("Host: ");
        strcpy(connection->request + connection->request_size, "\r\n");
        added = 2;
    }
    connection->request_size += (size_t)added;
    if (connection->proxy.fd < 0 || !connection->client.data || !connection->proxy.data ||
        (connect(connection->proxy.fd, (struct sockaddr *)&proxy, sizeof proxy) && errno != EINPROGRESS)) {
        finish(connection, 1);
        return;
    }
    watch(connection, &connection->client, 0);
    watch(connection, &connection->proxy, EPOLLOUT);
}

/* sends the CONNECT line and reads the proxy's answer; 1 when it is yes, 0 not yet, -1 no */
static int negotiate(struct connection *connection)
{
    struct side *proxy = &connection->proxy;
    while (connection->request_sent < connection->request_size) {
        ssize_t n = write(proxy->fd, connection->request + connection->request_sent,
                          connection->request_size - connection->request_sent);
        if (n < 0)
            return errno == EAGAIN ? 0 : -1;
        connection->request_sent += (size_t)n;
    }
    watch(connection, proxy, EPOLLIN);
    for (;;) {
        if (connection->answer_size == MAX_ANSWER - 1)
            return -1;
        ssize_t n = read(proxy->fd, connection->answer + connection->answer_size, MAX_ANSWER - 1 - connection->answer_size);
        if (n <= 0)
            return n < 0 && errno == EAGAIN ? 0 : -1;
        connection->answer_size += (size_t)n;
        connection->answer[connection->answer_size] = 0;
        char *body = memmem(connection->answer, connection->answer_size, "\r\n\r\n", 4);
        if (!body)
            continue;
        if (connection->answer_size < 12 || memcmp(connection->answer, "HTTP/1.", 7) ||
            memcmp(connection->answer + 8, " 200", 4))
            return -1;
        body += 4;
        proxy->end = connection->answer_size - (size_t)(body - connection->answer);
        memcpy(proxy->data, body, proxy->end);
        connection->answered = 1;
        return 1;
    }
}

/* moves what can move from one side to the other; -1 when the connection is over */
static int pump(struct side *from, struct side *to)
{
    for (;;) {
        while (from->start < from->end) {
            ssize_t n = write(to->fd, from->data + from->start, from->end - from->start);
            if (n < 0)
                return errno == EAGAIN ? 0 : -1;
            from->start += (size_t)n;
        }
        if (from->ended) {
            if (!to->shut && shutdown(to->fd, SHUT_WR))
                return -1;
            to->shut = 1;
            return 0;
        }
        ssize_t n = read(from->fd, from->data, BLOCK);
        if (n < 0)
            return errno == EAGAIN ? 0 : -1;
        from->start = 0;
        from->end = (size_t)n;
        from->ended = n == 0;
    }
}

static uint32_t wanted(const struct side *side, const struct side *other)
{
    return (uint32_t)((side->start == side->end && !side->ended ? EPOLLIN : 0) | (other->start < other->end ? EPOLLOUT : 0));
}

static void move(struct connection *connection, int from_proxy, uint32_t events)
{
    struct side *client = &connection->client, *proxy = &connection->proxy;
    if (!connection->answered) {
        int gone = events & EPOLLERR || (!from_proxy && events & EPOLLHUP);
        int answer = gone ? -1 : negotiate(connection);
        if (answer < 0)
            finish(connection, 1);
        if (answer < 1)
            return;
    }
    if (pump(client, proxy) < 0 || pump(proxy, client) < 0) {
        finish(connection, 1);
    } else if (client->shut && proxy->shut) {
        finish(connection, 0);
    } else {
        watch(connection, client, wanted(client, proxy));
        watch(connection, proxy, wanted(proxy, client));
    }
}

static int listen_on(int type, unsigned port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int one = 1, fd = socket(AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) || (type == SOCK_STREAM && listen(fd, 256))) {
        say("relay: port %u: %s", port, strerror(errno));
        _exit(1);
    }
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = (uint64_t)fd << 32 | 3};
    epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event);
    return fd;
}

int relay_main(void)
{
    struct rlimit files = {2 * MAX_CONNECTIONS + 64, 2 * MAX_CONNECTIONS + 64};
    setrlimit(RLIMIT_NOFILE, &files);
    signal(SIGPIPE, SIG_IGN);
    put_text("/proc/self/oom_score_adj", "-900");
    names = calloc(MAX_NAMES, sizeof *names);
    memset(buckets, 0xff, sizeof buckets);
    poller = epoll_create1(EPOLL_CLOEXEC);
    int dns = listen_on(SOCK_DGRAM, 53), redirected = listen_on(SOCK_STREAM, KIT_RELAY_PORT);
    if (!names || chroot("/kit/empty") || chdir("/") || setgroups(0, NULL) || setresgid(65533, 65533, 65533) ||
        setresuid(65533, 65533, 65533)) {
        say("relay: %s", strerror(errno));
        return 1;
    }
    for (;;) {
        struct epoll_event event;
        /* one at a time: handling one may free another's connection */
        if (epoll_wait(poller, &event, 1, -1) < 1)
            continue;
        if ((event.data.u64 & 3) == 3) {
            int fd = (int)(event.data.u64 >> 32);
            if (fd == dns)
                answer_dns(dns);
            else
                accept_one(redirected);
            continue;
        }
        move((struct connection *)(uintptr_t)(event.data.u64 & ~(uint64_t)3), event.data.u64 & 1, event.events);
    }
}
