/* Loopback up, and a default route to nowhere: what is sent there meets the redirect rules (net.nft) on its way out. */
#define _GNU_SOURCE
#include "kit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <net/route.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static struct sockaddr address(const char *text)
{
    struct sockaddr_in in = {.sin_family = AF_INET};
    struct sockaddr out;
    inet_pton(AF_INET, text, &in.sin_addr);
    memcpy(&out, &in, sizeof out);
    return out;
}

static int up(int fd, const char *name)
{
    struct ifreq request = {0};
    strcpy(request.ifr_name, name);
    if (ioctl(fd, SIOCGIFFLAGS, &request))
        return -1;
    request.ifr_flags |= IFF_UP;
    return ioctl(fd, SIOCSIFFLAGS, &request);
}

static int set_address(int fd, const char *name, const char *text, const char *mask)
{
    struct ifreq request = {0};
    strcpy(request.ifr_name, name);
    request.ifr_addr = address(text);
    if (ioctl(fd, SIOCSIFADDR, &request))
        return -1;
    request.ifr_addr = address(mask);
    return ioctl(fd, SIOCSIFNETMASK, &request);
}

int net_up(void)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    put_text("/proc/sys/net/ipv6/conf/dummy0/disable_ipv6", "1");
    int result = -1;
    if (up(fd, "lo") == 0 && set_address(fd, "dummy0", "198.19.255.1", "255.255.255.0") == 0 && up(fd, "dummy0") == 0) {
        struct rtentry route = {0};
        char device[] = "dummy0";
        route.rt_dst = address("0.0.0.0");
        route.rt_genmask = address("0.0.0.0");
        route.rt_flags = RTF_UP;
        route.rt_dev = device;
        result = ioctl(fd, SIOCADDRT, &route);
    }
    int kept = errno;
    close(fd);
    errno = kept;
    return result;
}
