/* The control port. A byte pipe has no connections, so each begins with a line: "KIT-CONNECT nonce" is answered by
 * "KIT-OK nonce"; then it carries one SSH connection, served by an SSH server on a socket pair (no port listens).
 */
#define _GNU_SOURCE
#include "kit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define BUFFER 65536

struct flow {
    char data[BUFFER];
    size_t start, end;
};

static struct flow to_guest, to_host;
static pid_t server;
static int server_fd = -1;

static int open_port(void)
{
    for (int turn = 0; turn < 500; turn++) {
        DIR *folder = opendir("/sys/class/virtio-ports");
        struct dirent *entry;
        while (folder && (entry = readdir(folder))) {
            char path[320], name[64];
            snprintf(path, sizeof path, "/sys/class/virtio-ports/%s/name", entry->d_name);
            if (get_text(path, name, sizeof name) < 0 || strncmp(name, "kit.control", 11))
                continue;
            snprintf(path, sizeof path, "/dev/%s", entry->d_name);
            int fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
            if (fd >= 0) {
                closedir(folder);
                return fd;
            }
        }
        if (folder)
            closedir(folder);
        usleep(10000);
    }
    return -1;
}

static void start_server(void)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) {
        say("channel: %s", strerror(errno));
        _exit(1);
    }
    server = fork();
    if (server == 0) {
        dup2(pair[1], 0);
        dup2(pair[1], 1);
        put_text("/proc/self/oom_score_adj", "-1000");
        setenv("HOME", "/kit/home", 1);
        setenv("PATH", "/usr/sbin:/usr/bin", 1);
        execl("/usr/sbin/dropbear", "dropbear", "-i", "-r", "/kit/hostkey", "-s", "-W", "4194304", "-I", "0", "-K",
              "0", (char *)NULL);
        _exit(127);
    }
    close(pair[1]);
    server_fd = pair[0];
    fcntl(server_fd, F_SETFL, O_NONBLOCK);
}

/* ends this connection's server; the sessions it started end with their pipes and terminals */
static void end_server(void)
{
    if (server_fd >= 0)
        close(server_fd);
    server_fd = -1;
    if (server > 0) {
        kill(server, SIGTERM);
        waitpid(server, NULL, 0);
    }
    server = 0;
    to_guest.start = to_guest.end = to_host.start = to_host.end = 0;
}

/* 1 moved, 0 nothing to do now, -1 the source or the target is gone */
static int fill(struct flow *flow, int fd)
{
    if (flow->start == flow->end)
        flow->start = flow->end = 0;
    if (flow->end == BUFFER)
        return 0;
    ssize_t n = read(fd, flow->data + flow->end, BUFFER - flow->end);
    if (n > 0) {
        flow->end += (size_t)n;
        return 1;
    }
    return n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
}

static int drain(struct flow *flow, int fd)
{
    if (flow->start == flow->end)
        return 0;
    ssize_t n = write(fd, flow->data + flow->start, flow->end - flow->start);
    if (n > 0) {
        flow->start += (size_t)n;
        return 1;
    }
    return n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
}

static void answer(int port, const char *nonce)
{
    char text[96];
    size_t size = (size_t)snprintf(text, sizeof text, "KIT-OK %s\n", nonce), sent = 0;
    while (sent < size) {
        struct pollfd waiting = {port, POLLOUT, 0};
        ssize_t n = write(port, text + sent, size - sent);
        if (n > 0)
            sent += (size_t)n;
        else if (errno == EAGAIN || errno == EINTR)
            poll(&waiting, 1, 1000);
        else
            return;
    }
}

/* Reads lines until the first of an SSH connection that was greeted, and leaves that line in to_guest. A host that
 * waits repeats its greeting, so the same one may come often: it is answered once. */
static void await_connection(int port)
{
    char line[256], nonce[65] = "";
    size_t used = 0;
    for (;;) {
        struct pollfd waiting = {port, POLLIN, 0};
        ssize_t n = read(port, line + used, 1);
        if (n == 0) { /* the host's side is closed, and poll would say so at once, for ever */
            used = 0;
            *nonce = 0;
            usleep(20000);
        } else if (n < 0) {
            poll(&waiting, 1, 1000);
        } else if (line[used] != '\n') {
            if (++used == sizeof line - 1)
                used = 0; /* noise of a dead connection */
        } else {
            line[used++] = 0;
            if (*nonce && !strncmp(line, "SSH-", 4)) {
                line[used - 1] = '\n';
                memcpy(to_guest.data, line, used);
                to_guest.end = used;
                return;
            }
            size_t length = strlen(line);
            if (!strncmp(line, "KIT-CONNECT ", 12) && length >= 20 && length <= 76 && strcmp(line + 12, nonce)) {
                strcpy(nonce, line + 12);
                answer(port, nonce);
            }
            used = 0;
        }
    }
}

static void serve(int port)
{
    for (;;) {
        struct pollfd watched[2] = {{port, 0, 0}, {server_fd, 0, 0}};
        if (to_guest.end < BUFFER || to_guest.start == to_guest.end)
            watched[0].events |= POLLIN;
        if (to_host.start < to_host.end)
            watched[0].events |= POLLOUT;
        if (to_host.end < BUFFER || to_host.start == to_host.end)
            watched[1].events |= POLLIN;
        if (to_guest.start < to_guest.end)
            watched[1].events |= POLLOUT;
        if (poll(watched, 2, -1) < 0 && errno != EINTR)
            return;
        if (watched[0].revents & (POLLHUP | POLLERR))
            return;
        if (watched[0].revents & POLLIN && fill(&to_guest, port) < 0)
            return;
        if (to_guest.start < to_guest.end && drain(&to_guest, server_fd) < 0)
            return;
        if (watched[1].revents & (POLLIN | POLLHUP) && fill(&to_host, server_fd) < 0) {
            while (drain(&to_host, port) > 0)
                ;
            return;
        }
        if (to_host.start < to_host.end && drain(&to_host, port) < 0)
            return;
    }
}

int channel_main(void)
{
    signal(SIGPIPE, SIG_IGN);
    put_text("/proc/self/oom_score_adj", "-1000");
    int port = open_port();
    if (port < 0) {
        say("channel: no control port");
        return 1;
    }
    for (;;) {
        start_server(); /* early: its start-up overlaps the wait for the host */
        await_connection(port);
        serve(port);
        end_server();
    }
}
