/* Sends standard input to the agent at $SSH_AUTH_SOCK and prints what comes back, until the wanted number of bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *path = getenv("SSH_AUTH_SOCK");
    char block[65536];
    if (!path)
        return puts("no agent"), 2;
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr *)&address, sizeof address))
        return puts("no answer"), 3;
    ssize_t n;
    while ((n = read(0, block, sizeof block)) > 0)
        write(fd, block, n);
    for (long wanted = argc > 1 ? atol(argv[1]) : 5; wanted > 0 && (n = read(fd, block, sizeof block)) > 0; wanted -= n)
        write(1, block, n);
    return 0;
}
