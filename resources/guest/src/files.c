/* The files of the Kit's root, for the person at the host: list, get, put. Runs as the sandbox's user, after the root
 * was joined. A link is never followed, wherever it lies in a path, unless the request says the person named the path.
 *
 *   list PATH FOLLOW MOST   a record: the real path, NUL; then for each entry, at most MOST of them, NUL-ended fields:
 *                           kind (d f l p s c b), mode (octal), size, mtime, uid, gid, name, a link's target
 *   get PATH FOLLOW         the size in decimal, NUL, the bytes
 *   put PATH SIZE REPLACE   exactly SIZE bytes of stdin become the file; fewer leave nothing
 *
 * Status 3: nothing there, 4: a link is in the way, 5: not that kind of thing, 6: something lies there already,
 * 7: stdin ended early, 126: anything else; the reason is on stderr.
 */
#define _GNU_SOURCE
#include "kit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#define NO_MAGIC_LINKS 0x02
#define NO_LINKS 0x04

struct how {
    uint64_t flags, mode, resolve;
};

static void failed(const char *path)
{
    int why = errno;
    say("%s: %s", path, strerror(why));
    if (why == ENOENT || why == ENOTDIR)
        _exit(3);
    _exit(why == ELOOP ? 4 : why == EEXIST ? 6 : 126);
}

static int open_plainly(const char *path, int flags, int follow)
{
    struct how how = {(uint64_t)flags | O_CLOEXEC, 0, NO_MAGIC_LINKS | (follow ? 0 : NO_LINKS)};
    return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
}

static char kind_of(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFDIR:
        return 'd';
    case S_IFREG:
        return 'f';
    case S_IFLNK:
        return 'l';
    case S_IFIFO:
        return 'p';
    case S_IFSOCK:
        return 's';
    case S_IFCHR:
        return 'c';
    }
    return 'b';
}

static void put_field(const char *text)
{
    if (fwrite(text, 1, strlen(text) + 1, stdout) != strlen(text) + 1)
        _exit(126);
}

static void list(const char *path, int follow, long most)
{
    char real[PATH_MAX], self[64], target[PATH_MAX], head[160];
    int fd = open_plainly(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK, follow);
    if (fd < 0)
        failed(path);
    snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(self, real, sizeof real - 1);
    real[size < 0 ? 0 : size] = 0;
    put_field(size < 0 ? path : real);
    DIR *folder = fdopendir(fd);
    struct dirent *entry;
    if (!folder)
        failed(path);
    while (most > 0 && (entry = readdir(folder))) {
        struct stat info;
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        if (fstatat(fd, entry->d_name, &info, AT_SYMLINK_NOFOLLOW))
            continue; /* it has just gone */
        size = S_ISLNK(info.st_mode) ? readlinkat(fd, entry->d_name, target, sizeof target - 1) : 0;
        target[size < 0 ? 0 : size] = 0;
        snprintf(head, sizeof head, "%c%c%o%c%lld%c%lld%c%u%c%u", kind_of(info.st_mode), 0, info.st_mode & 07777, 0,
                 (long long)info.st_size, 0, (long long)info.st_mtim.tv_sec, 0, info.st_uid, 0, info.st_gid);
        char *at = head;
        for (int field = 0; field < 6; field++, at += strlen(at) + 1)
            put_field(at);
        put_field(entry->d_name);
        put_field(target);
        most--;
    }
    if (fflush(stdout))
        _exit(126);
}

static void get(const char *path, int follow)
{
    static char block[65536];
    struct stat info;
    int fd = open_plainly(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, follow);
    if (fd < 0 || fstat(fd, &info))
        failed(path);
    if (!S_ISREG(info.st_mode)) {
        say("%s is not a plain file", path);
        _exit(5);
    }
    put_field((snprintf(block, sizeof block, "%lld", (long long)info.st_size), block));
    if (fflush(stdout))
        _exit(126);
    ssize_t n;
    while ((n = read(fd, block, sizeof block)) > 0)
        if (write_all(1, block, (size_t)n))
            _exit(126);
    if (n < 0)
        failed(path);
}

static void put(char *path, long long size, int replace)
{
    static char block[65536];
    char temporary[64];
    char *slash = strrchr(path, '/');
    if (!slash || !slash[1])
        _exit(120);
    const char *name = slash + 1;
    *slash = 0;
    int folder = open_plainly(slash == path ? "/" : path, O_PATH | O_DIRECTORY, 0);
    if (folder < 0)
        failed(slash == path ? "/" : path);
    struct stat there;
    if (fstatat(folder, name, &there, AT_SYMLINK_NOFOLLOW) == 0 && (!replace || !S_ISREG(there.st_mode))) {
        say("%s lies there already", name);
        _exit(6);
    }
    snprintf(temporary, sizeof temporary, ".kit-upload-%d", (int)getpid());
    int fd = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0)
        failed(name);
    while (size > 0) {
        ssize_t n = read(0, block, size < (long long)sizeof block ? (size_t)size : sizeof block);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            unlinkat(folder, temporary, 0);
            say("the upload ended early");
            _exit(7);
        }
        if (write_all(fd, block, (size_t)n))
            goto undo;
        size -= n;
    }
    if (replace ? renameat(folder, temporary, folder, name) == 0
                : syscall(SYS_renameat2, folder, temporary, folder, name, 1 /* no replace */) == 0)
        return;
undo:;
    int why = errno;
    unlinkat(folder, temporary, 0);
    errno = why;
    failed(name);
}

int files_main(const char *operation, char *path, long long number, int flag)
{
    if (*path != '/')
        _exit(120);
    if (!strcmp(operation, "list"))
        list(path, flag, (long)number);
    else if (!strcmp(operation, "get"))
        get(path, flag);
    else if (!strcmp(operation, "put"))
        put(path, number, flag);
    else
        _exit(120);
    return 0;
}
