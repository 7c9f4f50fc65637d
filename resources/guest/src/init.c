/* PID 1. First half: the initramfs; second half: the Kit's root, reaping, and the end of the machine.
 *
 * The initramfs stays the root of the control side (the channel, the SSH server, the relay). PID 1 moves into a mount
 * namespace of its own whose root is the Kit's overlay; commands join it there. So the Kit's root holds nothing of ours.
 */
#define _GNU_SOURCE
#include "kit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_LAYERS 400
#define MAX_MOUNTS 64

struct extra {
    char kind; /* 's' share, 'd' disk, 'r' memory, 'u' share below links of ours */
    int readonly;
    char *name; /* tag, serial or options */
    char *path;
    int tree; /* detached mount of a disk or of a share below links */
};

static char conf_text[65536];
static char *hostname = "sandbox";
static char *seed = "";
static int layers, want_network = 1;
static char *pids_limit = "4096";
static int privileged;
static unsigned owner_user, owner_group; /* whom missing folders above such a share belong to */
static struct extra extras[MAX_MOUNTS];
static int extra_count;

static void power_off(void)
{
    sync();
    reboot(RB_POWER_OFF);
    for (;;)
        pause();
}

static void fatal(const char *what, const char *name)
{
    say("fatal: %s %s: %s", what, name, strerror(errno));
    power_off();
}

static void must_mount(const char *source, const char *target, const char *type, unsigned long flags, const char *data)
{
    if (mount(source, target, type, flags, data))
        fatal("cannot mount", target);
}

static void read_conf(void)
{
    if (get_text(KIT_CONF, conf_text, sizeof conf_text) < 0)
        fatal("cannot read", KIT_CONF);
    for (char *line = strtok(conf_text, "\n"); line; line = strtok(NULL, "\n")) {
        char *value = strchr(line, ' ');
        if (!value)
            continue;
        *value++ = 0;
        if (!strcmp(line, "hostname"))
            hostname = value;
        else if (!strcmp(line, "layers"))
            layers = atoi(value);
        else if (!strcmp(line, "seed"))
            seed = value;
        else if (!strcmp(line, "network"))
            want_network = atoi(value);
        else if (!strcmp(line, "pids"))
            pids_limit = value;
        else if (!strcmp(line, "owner"))
            sscanf(value, "%u %u", &owner_user, &owner_group);
        else if (!strcmp(line, "share") || !strcmp(line, "disk") || !strcmp(line, "ram") || !strcmp(line, "union")) {
            /* NAME ro|rw PATH */
            char *access = strchr(value, ' ');
            char *path = access ? strchr(access + 1, ' ') : NULL;
            if (!path || extra_count == MAX_MOUNTS) {
                errno = EINVAL;
                fatal("cannot use configuration line", line);
            }
            *access++ = 0;
            *path++ = 0;
            extras[extra_count++] = (struct extra){line[0], !strcmp(access, "ro"), value, path, -1};
        }
    }
    if (layers < 1 || layers > MAX_LAYERS) {
        errno = EINVAL;
        fatal("cannot use this number of", "layers");
    }
}

static void load_modules(void)
{
    static char order[8192];
    if (get_text("/lib/modules/order", order, sizeof order) < 0)
        fatal("cannot read", "/lib/modules/order");
    for (char *name = strtok(order, "\n"); name; name = strtok(NULL, "\n")) {
        char path[256];
        snprintf(path, sizeof path, "/lib/modules/%s", name);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0 || (syscall(SYS_finit_module, fd, "", 0) && errno != EEXIST))
            say("module %s: %s", name, strerror(errno));
        if (fd >= 0)
            close(fd);
        unlink(path); /* its memory is worth more than the file */
    }
}

/* /dev path of the disk with this serial, waiting for it at most five seconds */
static void find_disk(const char *serial, char *device, size_t size)
{
    for (int turn = 0; turn < 500; turn++) {
        DIR *folder = opendir("/sys/block");
        struct dirent *entry;
        while (folder && (entry = readdir(folder))) {
            char path[320], text[64];
            snprintf(path, sizeof path, "/sys/block/%s/serial", entry->d_name);
            if (get_text(path, text, sizeof text) < 0)
                continue;
            text[strcspn(text, "\n")] = 0;
            if (strcmp(text, serial))
                continue;
            snprintf(device, size, "/dev/%s", entry->d_name);
            if (access(device, F_OK) == 0) {
                closedir(folder);
                return;
            }
        }
        if (folder)
            closedir(folder);
        usleep(10000);
    }
    errno = ENODEV;
    fatal("no disk", serial);
}

static void stack_layers(void)
{
    static char options[16384];
    char device[300], serial[32], place[32];
    size_t used = (size_t)snprintf(options, sizeof options, "upperdir=/u/upper,workdir=/u/work,lowerdir=");
    mkdir("/l", 0700);
    for (int i = layers - 1; i >= 0; i--) {
        snprintf(serial, sizeof serial, "l%d", i);
        snprintf(place, sizeof place, "/l/%d", i);
        find_disk(serial, device, sizeof device);
        mkdir(place, 0700);
        must_mount(device, place, "squashfs", MS_RDONLY, NULL);
        used += (size_t)snprintf(options + used, sizeof options - used, "%s%s", place, i ? ":" : "");
    }
    find_disk("upper", device, sizeof device);
    mkdir("/u", 0700);
    must_mount(device, "/u", "ext4", MS_NOATIME, "discard");
    struct stat root;
    int fresh = mkdir("/u/upper", 0755) == 0;
    mkdir("/u/work", 0700);
    if (fresh && stat(layers == 1 ? "/l/0" : place, &root) == 0) {
        /* the root folder itself: as the topmost layer has it */
        snprintf(place, sizeof place, "/l/%d", layers - 1);
        if (stat(place, &root) || chown("/u/upper", root.st_uid, root.st_gid) || chmod("/u/upper", root.st_mode & 07777))
            fatal("cannot prepare", "/u/upper");
    }
    mkdir("/newroot", 0755);
    must_mount("root", "/newroot", "overlay", MS_NOATIME, options);
}

static void folder_for_mount(const char *path, mode_t mode)
{
    struct stat info;
    if (lstat(path, &info)) {
        if (mkdir(path, mode) || chmod(path, mode))
            fatal("cannot make", path);
    } else if (!S_ISDIR(info.st_mode)) {
        errno = ENOTDIR;
        fatal("the image's", path + strlen("/newroot"));
    }
}

static void node(const char *name, unsigned major_number, unsigned minor_number)
{
    char path[64];
    snprintf(path, sizeof path, "/newroot/dev/%s", name);
    if (mknod(path, S_IFCHR | 0666, makedev(major_number, minor_number)))
        fatal("cannot make", path);
    chmod(path, 0666);
}

static void own_folder(void)
{
    folder_for_mount("/newroot/run/kit", 0755);
    must_mount("kit", "/newroot/run/kit", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755,size=16m");
}

/* the kernel's own /dev, which has every device; and control groups, as nested sandboxes need them */
static void furnish_all_devices(void)
{
    must_mount("dev", "/newroot/dev", "devtmpfs", MS_NOSUID, "mode=755");
    mkdir("/newroot/dev/pts", 0755);
    mkdir("/newroot/dev/shm", 01777);
    must_mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, "mode=620,gid=5,ptmxmode=666");
    must_mount("/dev/pts", "/newroot/dev/pts", NULL, MS_BIND, NULL);
    must_mount("shm", "/newroot/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=1777");
    unlink("/newroot/dev/ptmx");
    if (symlink("pts/ptmx", "/newroot/dev/ptmx") || symlink("/proc/self/fd", "/newroot/dev/fd") ||
        symlink("fd/0", "/newroot/dev/stdin") || symlink("fd/1", "/newroot/dev/stdout") ||
        symlink("fd/2", "/newroot/dev/stderr"))
        fatal("cannot furnish", "/dev");
    if (mount("cgroup", "/newroot/sys/fs/cgroup", "cgroup2", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL))
        fatal("cannot mount", "/sys/fs/cgroup");
    own_folder();
}

static void furnish_root(void)
{
    folder_for_mount("/newroot/proc", 0555);
    folder_for_mount("/newroot/sys", 0555);
    folder_for_mount("/newroot/dev", 0755);
    folder_for_mount("/newroot/run", 0755);
    folder_for_mount("/newroot/tmp", 01777);
    folder_for_mount("/newroot/etc", 0755);
    must_mount("proc", "/newroot/proc", "proc", MS_NOSUID | MS_NOEXEC | MS_NODEV, NULL);
    must_mount("sysfs", "/newroot/sys", "sysfs", MS_NOSUID | MS_NOEXEC | MS_NODEV | (privileged ? 0UL : MS_RDONLY), NULL);
    if (privileged) {
        furnish_all_devices();
        return;
    }
    must_mount("dev", "/newroot/dev", "tmpfs", MS_NOSUID | MS_STRICTATIME, "mode=755,size=64k");
    node("null", 1, 3);
    node("zero", 1, 5);
    node("full", 1, 7);
    node("random", 1, 8);
    node("urandom", 1, 9);
    node("tty", 5, 0);
    if (symlink("pts/ptmx", "/newroot/dev/ptmx") || symlink("/proc/self/fd", "/newroot/dev/fd") ||
        symlink("fd/0", "/newroot/dev/stdin") || symlink("fd/1", "/newroot/dev/stdout") ||
        symlink("fd/2", "/newroot/dev/stderr") || mkdir("/newroot/dev/pts", 0755) || mkdir("/newroot/dev/shm", 01777))
        fatal("cannot furnish", "/dev");
    mkdir("/dev/pts", 0755);
    must_mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, "mode=620,gid=5,ptmxmode=666");
    must_mount("/dev/pts", "/newroot/dev/pts", NULL, MS_BIND, NULL);
    must_mount("shm", "/newroot/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=1777");
    own_folder();
}

static void limit_sandbox(void)
{
    char path[64];
    mkdir("/cgroup", 0700);
    if (mount("cgroup", "/cgroup", "cgroup2", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL))
        fatal("cannot mount", "/cgroup");
    if (put_text("/cgroup/cgroup.subtree_control", "+pids"))
        say("no process limit: %s", strerror(errno));
    mkdir(KIT_CGROUP, 0700);
    snprintf(path, sizeof path, "%s/pids.max", KIT_CGROUP);
    if (put_text(path, pids_limit))
        say("no process limit: %s", strerror(errno));
}

static void set_seed(void)
{
    struct {
        int bits, size;
        uint8_t bytes[64];
    } pool;
    ssize_t size = base64_decode(seed, pool.bytes, sizeof pool.bytes);
    int fd = open("/dev/urandom", O_WRONLY | O_CLOEXEC);
    if (size > 0 && fd >= 0) {
        pool.size = (int)size;
        pool.bits = (int)size * 8;
        if (syscall(SYS_ioctl, fd, 0x40085203UL /* RNDADDENTROPY */, &pool))
            say("cannot add the random seed: %s", strerror(errno));
    }
    if (fd >= 0)
        close(fd);
}

static void text_file(const char *path, const char *text)
{
    unlink(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0 || write_all(fd, text, strlen(text)))
        say("cannot write %s: %s", path, strerror(errno));
    if (fd >= 0) {
        fchmod(fd, 0644);
        close(fd);
    }
}

static void mount_share(const char *tag, const char *place, int readonly)
{
    must_mount(tag, place, "9p", MS_NOSUID | MS_NODEV | MS_NOATIME | (readonly ? MS_RDONLY : 0UL),
               "trans=virtio,version=9p2000.L,msize=524288,cache=none,access=any");
}

/* a share with links of ours beside what is in it, where there are some: nothing is written into the share */
static void mount_union(int i, char *place, size_t size)
{
    char links[64], options[160];
    snprintf(place, size, "/d%d", i);
    mkdir(place, 0755);
    mount_share(extras[i].name, place, extras[i].readonly);
    snprintf(links, sizeof links, "/kit/links/%s", extras[i].name);
    if (access(links, F_OK))
        return;
    snprintf(options, sizeof options, "lowerdir=%s:%s", links, place);
    snprintf(place, size, "/o%d", i);
    mkdir(place, 0755);
    must_mount("union", place, "overlay", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOATIME, options);
}

/* disks are found outside the Kit's root, so they are mounted detached here and attached inside it */
static void detach_disks(void)
{
    for (int i = 0; i < extra_count; i++) {
        char device[300], place[64];
        if (extras[i].kind == 'u')
            mount_union(i, place, sizeof place);
        else if (extras[i].kind == 'd') {
            find_disk(extras[i].name, device, sizeof device);
            snprintf(place, sizeof place, "/d%d", i);
            mkdir(place, 0700);
            must_mount(device, place, "ext4", MS_NOATIME | (extras[i].readonly ? MS_RDONLY : 0UL), "discard");
        } else
            continue;
        extras[i].tree = (int)syscall(SYS_open_tree, AT_FDCWD, place, 1 /* clone */ | O_CLOEXEC);
        if (extras[i].tree < 0)
            fatal("cannot detach", place);
    }
}

static void attach_extras(void)
{
    for (int i = 0; i < extra_count; i++) {
        struct extra *one = &extras[i];
        int ours = one->kind == 'u';
        if (make_folders(one->path, 0755, ours ? owner_user : 0, ours ? owner_group : 0))
            fatal("cannot make the folder", one->path);
        if (one->kind == 'd' || one->kind == 'u') {
            if (syscall(SYS_move_mount, one->tree, "", AT_FDCWD, one->path, 4 /* empty source path */))
                fatal("cannot mount at", one->path);
            close(one->tree);
        } else if (one->kind == 'r') {
            must_mount("ram", one->path, "tmpfs", MS_NOATIME, one->name);
        } else {
            mount_share(one->name, one->path, one->readonly);
        }
    }
}

static void enter_root(void)
{
    if (unshare(CLONE_NEWNS))
        fatal("cannot make", "a mount namespace");
    must_mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
    if (chdir("/newroot") || mount(".", "/", NULL, MS_MOVE, NULL) || chroot(".") || chdir("/"))
        fatal("cannot enter", "the root");
    attach_extras();
    char text[512];
    text_file("/etc/resolv.conf", "nameserver 127.0.0.1\noptions timeout:2 attempts:2\n");
    snprintf(text, sizeof text, "127.0.0.1 localhost %s\n::1 localhost ip6-localhost ip6-loopback\n", hostname);
    text_file("/etc/hosts", text);
    snprintf(text, sizeof text, "%s\n", hostname);
    text_file("/etc/hostname", text);
}

static pid_t child(int (*role)(void), int outside, sigset_t *mask)
{
    pid_t pid = fork();
    if (pid == 0) {
        sigprocmask(SIG_SETMASK, mask, NULL);
        setsid();
        if (outside >= 0 && setns(outside, CLONE_NEWNS))
            fatal("cannot return to", "the control side");
        if (outside >= 0)
            close(outside);
        _exit(role());
    }
    return pid;
}

static int nft_main(void)
{
    execl("/usr/sbin/nft", "nft", "-f", "/kit/net.nft", (char *)NULL);
    return 127;
}

static void shut_down(void)
{
    say("stopping");
    kill(-1, SIGTERM);
    for (int turn = 0; turn < 100; turn++) {
        pid_t pid;
        while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
            ;
        if (pid < 0)
            break;
        usleep(20000);
    }
    kill(-1, SIGKILL);
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
    sync();
    mount(NULL, "/", NULL, MS_REMOUNT | MS_RDONLY, NULL);
    say("stopped");
    power_off();
}

int init_main(void)
{
    char command_line[2048];
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    umask(0022);
    must_mount("proc", "/proc", "proc", 0, NULL);
    if (get_text("/proc/cmdline", command_line, sizeof command_line) >= 0 && strstr(command_line, "kit.probe")) {
        say("probe reached init");
        power_off();
    }
    must_mount("dev", "/dev", "devtmpfs", 0, NULL);
    must_mount("sysfs", "/sys", "sysfs", 0, NULL);
    read_conf();
    privileged = access(KIT_PRIVILEGED, F_OK) == 0;
    load_modules();
    set_seed();
    sethostname(hostname, strlen(hostname));
    stack_layers();
    furnish_root();
    limit_sandbox();
    detach_disks();
    struct rlimit files = {65536, 1048576};
    setrlimit(RLIMIT_NOFILE, &files);
    put_text("/proc/sys/net/ipv4/ip_unprivileged_port_start", "0");
    mkdir(KIT_REQUESTS, 0700);
    pid_t nft = 0, relay = 0, channel;
    if (want_network) {
        if (net_up())
            fatal("cannot set up", "the network");
        nft = child(nft_main, -1, &before);
        relay = child(relay_main, -1, &before);
    }
    int outside = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
    if (outside < 0)
        fatal("cannot open", "/proc/self/ns/mnt");
    enter_root();
    while (nft) {
        int status;
        pid_t pid = waitpid(nft, &status, 0);
        if (pid < 0 && errno == EINTR)
            continue;
        if (pid < 0 || status != 0) {
            errno = EPROTO;
            fatal("cannot load", "the redirect rules");
        }
        nft = 0;
    }
    channel = child(channel_main, outside, &before);
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    say("ready after %ld.%02ld s", (long)now.tv_sec, now.tv_nsec / 10000000);
    for (;;) {
        siginfo_t info;
        int number = sigwaitinfo(&all, &info);
        if (number == SIGTERM && info.si_uid == 0)
            shut_down();
        pid_t pid;
        while ((pid = waitpid(-1, NULL, WNOHANG)) > 0) {
            if (pid == channel || (want_network && pid == relay)) {
                say("the %s ended; starting it again", pid == channel ? "channel" : "relay");
                usleep(200000);
                if (pid == channel)
                    channel = child(channel_main, outside, &before);
                else
                    relay = child(relay_main, outside, &before);
            }
        }
    }
}
