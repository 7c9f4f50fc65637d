/* What busybox has no applet for: ``flush`` removes every packet rule of this kernel, ``flood N`` opens N connections
 * to the proxy at once and counts those it refuses, ``eat`` takes memory until it is killed. */
#include <arpa/inet.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

struct message {
    struct nlmsghdr head;
    struct nfgenmsg body;
};

static struct message of(int type, int flags, int subsystem)
{
    struct message made = {
        .head = {.nlmsg_len = sizeof made, .nlmsg_type = type, .nlmsg_flags = NLM_F_REQUEST | flags},
        .body = {.res_id = htons(subsystem)},
    };
    return made;
}

static int flush(void)
{
    struct message batch[3] = {
        of(NFNL_MSG_BATCH_BEGIN, 0, NFNL_SUBSYS_NFTABLES),
        of(NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_DELTABLE, NLM_F_ACK, 0),
        of(NFNL_MSG_BATCH_END, 0, NFNL_SUBSYS_NFTABLES),
    };
    struct {
        struct nlmsghdr head;
        struct nlmsgerr error;
        char rest[4096];
    } answer;
    int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER);
    if (fd < 0 || send(fd, batch, sizeof batch, 0) < 0 || recv(fd, &answer, sizeof answer, 0) < 0)
        return perror("flush"), 1;
    return printf("flushed %d\n", answer.error.error), 0;
}

static int proxy(void)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(3128)};
    inet_pton(AF_INET, "127.0.0.1", &in.sin_addr);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    return fd >= 0 && connect(fd, (struct sockaddr *)&in, sizeof in) == 0 ? fd : -1;
}

static int flood(int count)
{
    struct rlimit files = {count + 64, count + 64};
    setrlimit(RLIMIT_NOFILE, &files);
    struct pollfd *all = calloc(count, sizeof *all);
    char block[4096];
    int open = 0, refused = 0;
    for (int i = 0; i < count; i++)
        all[i] = (struct pollfd){.fd = proxy(), .events = POLLIN}, open += all[i].fd >= 0;
    while (poll(all, count, 4000) > 0)
        for (int i = 0; i < count; i++)
            if (all[i].fd >= 0 && all[i].revents) {
                ssize_t n = read(all[i].fd, block, sizeof block - 1);
                refused += n > 0 && memmem(block, n, " 503 ", 5);
                close(all[i].fd);
                all[i].fd = -1;
            }
    return printf("opened %d refused %d\n", open, refused), 0;
}

static int eat(void)
{
    for (char *block; (block = malloc(1 << 20));)
        memset(block, 1, 1 << 20);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "flush"))
        return flush();
    if (argc > 2 && !strcmp(argv[1], "flood"))
        return flood(atoi(argv[2]));
    if (argc > 1 && !strcmp(argv[1], "eat"))
        return eat();
    return 64;
}
