/* The control port. A byte pipe has no connections, so each begins with a line: "KIT-CONNECT nonce" is answered by
 * "KIT-OK nonce" and then carries one SSH connection, served by an SSH server on a socket pair (no port listens).
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
        execl("/usr/sbin/dropbear", "dropbear", "-i", "-E", "-r", "/kit/hostkey", "-s", "-W", "4194304", "-I", "0", "-K",
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

/* reads lines until a greeting; answers it; what follows the line stays in to_guest */
static void await_greeting(int port)
{
    char line[96];
    size_t used = 0;
    for (;;) {
        struct pollfd waiting = {port, POLLIN, 0};
        char byte;
        ssize_t n = read(port, &byte, 1);
        if (n == 1) {
            if (byte != '\n') {
                if (used < sizeof line - 1)
                    line[used++] = byte;
                else
                    used = 0; /* noise of a dead connection */
                continue;
            }
            line[used] = 0;
            used = 0;
            char *greeting = strstr(line, "KIT-CONNECT ");
            size_t nonce = greeting ? strlen(greeting + 12) : 0;
            if (nonce < 8 || nonce > 64)
                continue;
            char answer[96];
            int size = snprintf(answer, sizeof answer, "KIT-OK %s\n", greeting + 12);
            to_host.start = to_host.end = 0;
            memcpy(to_host.data, answer, (size_t)size);
            to_host.end = (size_t)size;
            return;
        }
        if (n == 0) { /* the host's side is closed: poll says HUP at once, so wait a little */
            used = 0;
            usleep(20000);
            continue;
        }
        poll(&waiting, 1, 1000);
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
        if (watched[1].revents & (POLLIN | POLLHUP) && to_host.end < BUFFER && fill(&to_host, server_fd) < 0) {
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
        await_greeting(port);
        serve(port);
        end_server();
    }
}
