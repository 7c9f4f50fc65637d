/* The guest side of Kit Studio: one static program, five roles, chosen by the name it is started with.
 *
 *   init     PID 1: loads modules, stacks the layers, enters the Kit's root, reaps, powers off
 *   channel  the control port: nonce handshake, then one SSH server a connection (init's own mount namespace)
 *   enter    the SSH server's only "shell": runs one request in the Kit's root
 *   relay    DNS with synthetic addresses, and redirected TCP turned into CONNECT by name
 *   net      loopback, the route to nowhere (done by init itself, once)
 */
#ifndef KIT_H
#define KIT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define KIT_PROXY_PORT 3128
#define KIT_RELAY_PORT 3129
#define KIT_CONF "/kit/conf"
#define KIT_PRIVILEGED "/kit/privileged"
#define KIT_REQUESTS "/kit/requests"
#define KIT_CGROUP "/cgroup/sandbox"

/* one line "kit: ..." on the console */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* small file helpers; 0 or -1 with errno */
int put_text(const char *path, const char *text);
ssize_t get_text(const char *path, char *buffer, size_t size);
int make_folders(const char *path, mode_t mode, uid_t uid, gid_t gid);
int write_all(int fd, const void *data, size_t size);

/* decodes in place of the output buffer; the length, or -1 when it is not base64 */
ssize_t base64_decode(const char *text, uint8_t *out, size_t size);

int init_main(void);
int channel_main(void);
int enter_main(int argc, char **argv);
int files_main(const char *operation, char *path, long long number, int flag);
int relay_main(void);
int net_up(void);

#endif
