/* The SSH server's only "shell". One request a call, as "-c REQUEST":
 *
 *   run BASE64 | run @NAME   a command in the Kit's root (NAME: a request stored by put)
 *   put NAME                 stores a long request from stdin
 *   write BASE64             stdin becomes a file of the Kit's root       (path, uid, gid, octal mode)
 *   link BASE64              a link in the Kit's root                     (path, target, uid, gid)
 *   socket BASE64            a Unix socket in the Kit's root that leads to a port of 127.0.0.1, until stdin ends
 *                                                                         (path, port, uid, gid)
 *   read BASE64              a file of the Kit's root to stdout           (path, limit)
 *   files BASE64             the Kit's files as one of its users     (uid, gid, groups, what, path, number, flag: files.c)
 *   poweroff                 PID 1 ends the machine
 *
 * A request's fields are NUL-ended: for run "p" or "-" (terminal), uid, gid, groups (commas), folder, number of
 * arguments, arguments, number of variables, variables. Status 120: a broken request; 126, 127: as shells use them.
 */
#define _GNU_SOURCE
#include "kit.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_REQUEST (4u << 20)
#define MAX_GROUPS 64

struct fields {
    char *at, *end;
};

static pid_t command_group;

static void broken(const char *why)
{
    say("broken request: %s", why);
    _exit(120);
}

static void failed(const char *what, const char *name)
{
    say("%s %s: %s", what, name, strerror(errno));
    _exit(126);
}

static char *next(struct fields *fields)
{
    char *field = fields->at;
    char *end = field < fields->end ? memchr(field, 0, (size_t)(fields->end - field)) : NULL;
    if (!end)
        broken("a field is missing");
    fields->at = end + 1;
    return field;
}

static long next_number(struct fields *fields, int base)
{
    char *text = next(fields), *end;
    long value = strtol(text, &end, base);
    if (!*text || *end || value < 0)
        broken("a number is not one");
    return value;
}

static int request_name(const char *name, char *path, size_t size)
{
    size_t length = strlen(name);
    if (length < 1 || length > 64 || strspn(name, "0123456789abcdef") != length)
        return -1;
    snprintf(path, size, "%s/%s", KIT_REQUESTS, name);
    return 0;
}

static struct fields decode(char *text)
{
    static char *memory;
    memory = malloc(MAX_REQUEST);
    if (!memory)
        broken("too little memory");
    ssize_t size;
    if (*text == '@') {
        char path[128];
        if (request_name(text + 1, path, sizeof path))
            broken("its name");
        size = get_text(path, memory, MAX_REQUEST);
        unlink(path);
    } else {
        size = base64_decode(text, (uint8_t *)memory, MAX_REQUEST);
        memset(text, 0, strlen(text)); /* the process list is no place for a command's environment */
    }
    if (size < 0)
        broken("its coding");
    return (struct fields){memory, memory + size};
}

static void join_root(void)
{
    int fd = open("/proc/1/ns/mnt", O_RDONLY | O_CLOEXEC);
    if (fd < 0 || setns(fd, CLONE_NEWNS))
        failed("cannot enter", "the root");
    close(fd);
}

/* What root has in a sandbox that is not privileged; numbers of linux/capability.h, which musl does not bring. */
static const unsigned char kept_rights[] = {
    0,  /* chown */
    1,  /* dac_override */
    3,  /* fowner */
    4,  /* fsetid */
    5,  /* kill */
    6,  /* setgid */
    7,  /* setuid */
    8,  /* setpcap */
    10, /* net_bind_service */
    13, /* net_raw */
    18, /* sys_chroot */
    29, /* audit_write */
    31, /* setfcap */
};

static void drop_rights(void)
{
    for (int right = 0; right < 64; right++) {
        if (memchr(kept_rights, right, sizeof kept_rights))
            continue;
        if (prctl(PR_CAPBSET_DROP, right, 0, 0, 0) && errno != EINVAL)
            failed("cannot drop", "rights");
    }
}

static char **next_list(struct fields *fields)
{
    long count = next_number(fields, 10);
    if (count > 65536)
        broken("too many words");
    char **list = calloc((size_t)count + 1, sizeof *list);
    if (!list)
        broken("too little memory");
    for (long i = 0; i < count; i++)
        list[i] = next(fields);
    return list;
}

static void start(char **argv, char **environment)
{
    if (strchr(argv[0], '/')) {
        execve(argv[0], argv, environment);
    } else {
        const char *path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
        for (char **variable = environment; *variable; variable++)
            if (!strncmp(*variable, "PATH=", 5))
                path = *variable + 5;
        int denied = 0;
        char candidate[4096];
        while (*path) {
            size_t length = strcspn(path, ":");
            int size = snprintf(candidate, sizeof candidate, "%.*s/%s", (int)length, path, argv[0]);
            if (length && size < (int)sizeof candidate) {
                execve(candidate, argv, environment);
                if (errno == EACCES)
                    denied = 1;
                else if (errno != ENOENT && errno != ENOTDIR)
                    break;
            }
            path += length + (path[length] == ':');
        }
        if (denied)
            errno = EACCES;
        else if (!errno || errno == ENOTDIR)
            errno = ENOENT;
    }
    say("cannot start %s: %s", argv[0], strerror(errno));
    _exit(errno == ENOENT ? 127 : 126);
}

static void pass_on(int number)
{
    /* USR1 is the host's word for "now": the whole group goes */
    int passed = number == SIGUSR1 ? SIGKILL : number;
    if (kill(-command_group, passed))
        kill(command_group, passed); /* it has not made its group yet */
}

/* stands between the SSH server and the command, so that a signal reaches the command's whole group */
static void supervise(pid_t pid)
{
    struct sigaction action = {.sa_handler = pass_on, .sa_flags = SA_RESTART};
    int status;
    command_group = pid;
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    sigaction(SIGQUIT, &action, NULL);
    sigaction(SIGUSR1, &action, NULL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    close(0);
    close(1);
    close(2);
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            _exit(126);
    _exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

static size_t next_groups(struct fields *fields, gid_t *groups)
{
    size_t count = 0;
    for (char *text = next(fields); *text && count < MAX_GROUPS;) {
        groups[count++] = (gid_t)strtoul(text, &text, 10);
        if (*text && *text++ != ',')
            broken("its groups");
    }
    return count;
}

static void run(struct fields fields)
{
    int terminal = *next(&fields) == 'p';
    uid_t uid = (uid_t)next_number(&fields, 10);
    gid_t gid = (gid_t)next_number(&fields, 10);
    gid_t groups[MAX_GROUPS];
    size_t group_count = next_groups(&fields, groups);
    char *folder = next(&fields);
    char **argv = next_list(&fields);
    char **environment = next_list(&fields);
    if (!argv[0] || !*argv[0])
        broken("no command");
    if (put_text(KIT_CGROUP "/cgroup.procs", "0"))
        failed("cannot join", "the sandbox's group");
    put_text("/proc/self/oom_score_adj", "0");
    int privileged = access(KIT_PRIVILEGED, F_OK) == 0;
    join_root();
    if (!terminal) {
        sigset_t all;
        sigfillset(&all);
        sigprocmask(SIG_SETMASK, &all, NULL);
        pid_t pid = fork();
        if (pid < 0)
            failed("cannot start", argv[0]);
        if (pid)
            supervise(pid);
        setsid();
    }
    for (int number = 1; number < 65; number++)
        signal(number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    umask(0022);
    struct rlimit files = {65536, 1048576};
    setrlimit(RLIMIT_NOFILE, &files);
    if (terminal && fchown(0, uid, gid) && uid)
        failed("cannot give", "the terminal");
    syscall(SYS_close_range, 3, ~0U, 0);
    if (!privileged)
        drop_rights();
    if (setgroups(group_count, groups) || setresgid(gid, gid, gid) || setresuid(uid, uid, uid))
        failed("cannot become", "that user");
    if (chdir(folder))
        failed("cannot enter the folder", folder);
    start(argv, environment);
}

static void put(const char *name)
{
    char path[128], block[65536];
    if (request_name(name, path, sizeof path))
        broken("its name");
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        failed("cannot store", "the request");
    size_t total = 0;
    ssize_t n;
    while ((n = read(0, block, sizeof block)) > 0) {
        total += (size_t)n;
        if (total >= MAX_REQUEST || write_all(fd, block, (size_t)n)) {
            unlink(path);
            failed("cannot store", "the request");
        }
    }
    close(fd);
}

static void write_file(struct fields fields)
{
    char *path = next(&fields);
    uid_t uid = (uid_t)next_number(&fields, 10);
    gid_t gid = (gid_t)next_number(&fields, 10);
    mode_t mode = (mode_t)next_number(&fields, 8);
    char temporary[4096], block[65536];
    char *slash = strrchr(path, '/');
    if (*path != '/' || strlen(path) > sizeof temporary - 32 || !slash[1])
        broken("its path");
    join_root();
    if (slash != path) {
        *slash = 0;
        if (make_folders(path, 0755, uid, gid))
            failed("cannot make the folder", path);
        *slash = '/';
    }
    snprintf(temporary, sizeof temporary, "%.*s/.kit-%d", (int)(slash - path), path, (int)getpid());
    unlink(temporary);
    int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        failed("cannot write", path);
    ssize_t n;
    while ((n = read(0, block, sizeof block)) > 0)
        if (write_all(fd, block, (size_t)n))
            goto undo;
    if (n == 0 && fchown(fd, uid, gid) == 0 && fchmod(fd, mode & 07777) == 0 && rename(temporary, path) == 0)
        _exit(0);
undo:
    n = errno;
    unlink(temporary);
    errno = (int)n;
    failed("cannot write", path);
}

/* Status 5: something else lies there already. */
static void make_link(struct fields fields)
{
    char *path = next(&fields), *target = next(&fields);
    uid_t uid = (uid_t)next_number(&fields, 10);
    gid_t gid = (gid_t)next_number(&fields, 10);
    char there[4096];
    char *slash = strrchr(path, '/');
    if (*path != '/' || strlen(path) >= sizeof there || strlen(target) >= sizeof there || !slash[1])
        broken("its path");
    join_root();
    if (slash != path) {
        *slash = 0;
        if (make_folders(path, 0755, uid, gid))
            failed("cannot make the folder", path);
        *slash = '/';
    }
    if (symlink(target, path) == 0) {
        if (lchown(path, uid, gid))
            failed("cannot give", path);
        _exit(0);
    }
    if (errno != EEXIST)
        failed("cannot link", path);
    ssize_t size = readlink(path, there, sizeof there - 1);
    _exit(size == (ssize_t)strlen(target) && !memcmp(there, target, (size_t)size) ? 0 : 5);
}

static void join_streams(int client, int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (server < 0 || connect(server, (struct sockaddr *)&address, sizeof address))
        _exit(1);
    struct pollfd ends[2] = {{.fd = client, .events = POLLIN}, {.fd = server, .events = POLLIN}};
    static char block[16384];
    for (;;) {
        if (poll(ends, 2, -1) < 0)
            _exit(1);
        for (int i = 0; i < 2; i++) {
            if (!ends[i].revents)
                continue;
            ssize_t n = read(ends[i].fd, block, sizeof block);
            if (n <= 0 || write_all(ends[!i].fd, block, (size_t)n))
                _exit(0);
        }
    }
}

static void serve_socket(struct fields fields)
{
    char *path = next(&fields);
    long port = next_number(&fields, 10);
    uid_t uid = (uid_t)next_number(&fields, 10);
    gid_t gid = (gid_t)next_number(&fields, 10);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char *slash = strrchr(path, '/');
    if (*path != '/' || strlen(path) >= sizeof address.sun_path || slash == path || !slash[1] || port > 65535)
        broken("its path");
    memcpy(address.sun_path, path, strlen(path));
    join_root();
    *slash = 0;
    if (make_folders(path, 0755, 0, 0))
        failed("cannot make the folder", path);
    *slash = '/';
    unlink(path);
    int listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listening < 0 || bind(listening, (struct sockaddr *)&address, sizeof address) || lchown(path, uid, gid) ||
        chmod(path, 0600) || listen(listening, 16))
        failed("cannot listen at", path);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, SIG_IGN);
    if (write_all(1, "+", 1))
        _exit(126);
    struct pollfd ends[2] = {{.fd = listening, .events = POLLIN}, {.fd = 0, .events = POLLIN}};
    for (;;) {
        char byte;
        if (poll(ends, 2, -1) < 0 || (ends[1].revents && read(0, &byte, 1) <= 0))
            break;
        if (!ends[0].revents)
            continue;
        int client = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
        if (client < 0)
            continue;
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            close(listening);
            join_streams(client, (int)port);
        }
        close(client);
    }
    unlink(path);
    _exit(0);
}

static void read_file(struct fields fields)
{
    char *path = next(&fields);
    long limit = next_number(&fields, 10);
    static char block[65536];
    join_root();
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat info;
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        _exit(3);
    if (fd < 0 || fstat(fd, &info))
        failed("cannot read", path);
    if (!S_ISREG(info.st_mode)) {
        errno = EINVAL;
        failed("not a plain file:", path);
    }
    ssize_t n;
    while (limit >= 0 && (n = read(fd, block, sizeof block)) > 0) {
        limit -= n;
        if (limit < 0)
            _exit(4);
        if (write_all(1, block, (size_t)n))
            _exit(126);
    }
    if (n < 0)
        failed("cannot read", path);
}

static void serve_files(struct fields fields)
{
    uid_t uid = (uid_t)next_number(&fields, 10);
    gid_t gid = (gid_t)next_number(&fields, 10);
    gid_t groups[MAX_GROUPS];
    size_t group_count = next_groups(&fields, groups);
    char *operation = next(&fields), *path = next(&fields);
    long number = next_number(&fields, 10);
    int flag = next_number(&fields, 10) != 0;
    if (put_text(KIT_CGROUP "/cgroup.procs", "0"))
        failed("cannot join", "the sandbox's group");
    put_text("/proc/self/oom_score_adj", "0");
    join_root();
    drop_rights();
    umask(0022);
    if (setgroups(group_count, groups) || setresgid(gid, gid, gid) || setresuid(uid, uid, uid))
        failed("cannot become", "that user");
    _exit(files_main(operation, path, number, flag));
}

int enter_main(int argc, char **argv)
{
    if (argc != 3 || strcmp(argv[1], "-c"))
        broken("no request");
    char *verb = argv[2], *rest = strchr(verb, ' ');
    if (rest)
        *rest++ = 0;
    if (!strcmp(verb, "poweroff")) {
        sync();
        return kill(1, SIGTERM) ? 126 : 0;
    }
    if (!rest)
        broken("no argument");
    if (!strcmp(verb, "run"))
        run(decode(rest));
    else if (!strcmp(verb, "put"))
        put(rest);
    else if (!strcmp(verb, "write"))
        write_file(decode(rest));
    else if (!strcmp(verb, "link"))
        make_link(decode(rest));
    else if (!strcmp(verb, "socket"))
        serve_socket(decode(rest));
    else if (!strcmp(verb, "read"))
        read_file(decode(rest));
    else if (!strcmp(verb, "files"))
        serve_files(decode(rest));
    else
        broken("an unknown verb");
    return 0;
}
