#include "kit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void say(const char *format, ...)
{
    char line[512];
    int used = snprintf(line, sizeof line, "kit: ");
    va_list arguments;
    va_start(arguments, format);
    used += vsnprintf(line + used, sizeof line - (size_t)used - 1, format, arguments);
    va_end(arguments);
    if (used > (int)sizeof line - 2)
        used = (int)sizeof line - 2;
    line[used++] = '\n';
    if (write(2, line, (size_t)used) < 0)
        return;
}

int write_all(int fd, const void *data, size_t size)
{
    const char *at = data;
    while (size) {
        ssize_t n = write(fd, at, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        at += n;
        size -= (size_t)n;
    }
    return 0;
}

int put_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    int result = write_all(fd, text, strlen(text));
    close(fd);
    return result;
}

ssize_t get_text(const char *path, char *buffer, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    size_t used = 0;
    while (used < size - 1) {
        ssize_t n = read(fd, buffer + used, size - 1 - used);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        used += (size_t)n;
    }
    close(fd);
    buffer[used] = 0;
    return (ssize_t)used;
}

int make_folders(const char *path, mode_t mode, uid_t uid, gid_t gid)
{
    char part[4096];
    size_t length = strlen(path);
    if (length >= sizeof part) {
        errno = ENAMETOOLONG;
        return -1;
    }
    for (size_t i = 1; i <= length; i++) {
        if (path[i] != '/' && path[i] != 0)
            continue;
        memcpy(part, path, i);
        part[i] = 0;
        if (mkdir(part, mode) == 0) {
            if (chmod(part, mode) || chown(part, uid, gid))
                return -1;
        } else if (errno != EEXIST) {
            return -1;
        }
    }
    return 0;
}

ssize_t base64_decode(const char *text, uint8_t *out, size_t size)
{
    uint32_t bits = 0;
    int held = 0;
    size_t used = 0;
    for (; *text && *text != '='; text++) {
        int c = *text, v;
        if (c >= 'A' && c <= 'Z')
            v = c - 'A';
        else if (c >= 'a' && c <= 'z')
            v = c - 'a' + 26;
        else if (c >= '0' && c <= '9')
            v = c - '0' + 52;
        else if (c == '+')
            v = 62;
        else if (c == '/')
            v = 63;
        else
            return -1;
        bits = (bits << 6 | (uint32_t)v) & 0xffffff;
        held += 6;
        if (held >= 8) {
            held -= 8;
            if (used >= size)
                return -1;
            out[used++] = (uint8_t)(bits >> held);
        }
    }
    return (ssize_t)used;
}

int main(int argc, char **argv)
{
    const char *name = strrchr(argv[0], '/');
    name = name ? name + 1 : argv[0];
    if (!strcmp(name, "enter"))
        return enter_main(argc, argv);
    if (getpid() == 1)
        return init_main();
    return 64;
}
