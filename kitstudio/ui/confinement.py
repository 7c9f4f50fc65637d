"""Giving up what a process does not need, for good: no new file, socket or program, whatever code comes to run in it.

A filter of system calls (seccomp) refuses them to this thread and every later one. It needs Linux on x86-64 or ARM64;
elsewhere ``confine`` fails, and what was to be done in confinement is not done.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import resource
import struct

_CALLS = {
    # open creat openat openat2 open_by_handle_at; socket connect accept sendto sendmsg bind listen socketpair accept4
    # sendmmsg; fork vfork execve execveat; ptrace process_vm_readv process_vm_writev; rename link symlink mkdir rmdir
    # unlink chmod chown truncate and their -at forms; mount umount2 chroot pivot_root unshare setns; bpf
    # perf_event_open io_uring_setup userfaultfd memfd_create keyctl add_key request_key; kill; setrlimit prlimit64
    "x86_64": (
        0xC000003E,
        "2 85 257 437 304  41 42 43 44 46 49 50 53 288 307  57 58 59 322  101 310 311  82 83 84 86 87 88 90 92 94 76 "
        "258 259 260 263 264 265 266 268 316  165 166 161 155 272 308  321 298 425 323 319 250 248 249  62 302",
    ),
    "aarch64": (
        0xC00000B7,
        "56 437 265  198 203 202 211 206 200 201 199 242 269  221 281  117 270 271  34 35 36 37 38 53 54 45 276  "
        "40 39 51 41 97 268  280 241 425 282 279 219 217 218  129 261",
    ),
}
_ALLOW, _KILL, _REFUSE = 0x7FFF0000, 0x80000000, 0x00050000 | errno.EPERM
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NO_NEW_PRIVILEGES, _SET_FILTER, _MODE_FILTER = 38, 22, 2
_X32 = 0x40000000


def confine(memory: int) -> None:
    """No new file, socket or program from now on; ``memory``: bytes of address space beside what is taken.

    Raises ``OSError`` where that cannot be had.
    """
    with open("/proc/self/statm", "rb") as held:
        taken = int(held.read().split()[0]) * resource.getpagesize()
    for what, most in (
        (resource.RLIMIT_AS, taken + memory),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 64),
    ):
        resource.setrlimit(what, (most, most))
    _refuse_calls()


def allow_time(seconds: int) -> None:
    """Processor time from now on; then the system ends the process. Before ``confine``: it takes this call, too."""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))


def _refuse_calls() -> None:
    machine = platform.machine()
    if machine not in _CALLS:
        raise OSError(errno.ENOSYS, f"system calls cannot be refused on {machine}")
    architecture, refused = _CALLS[machine]
    steps = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, architecture), (_RETURN, 0, 0, _KILL), (_LOAD, 0, 0, 0)]
    steps += [(_AT_LEAST, 0, 1, _X32), (_RETURN, 0, 0, _KILL)]
    for call in refused.split():
        steps += [(_EQUAL, 0, 1, int(call)), (_RETURN, 0, 0, _REFUSE)]
    steps.append((_RETURN, 0, 0, _ALLOW))
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in steps))
    program = ctypes.create_string_buffer(struct.pack("@HP", len(steps), ctypes.addressof(code)))
    library = ctypes.CDLL(None, use_errno=True)
    for arguments in (
        (_NO_NEW_PRIVILEGES, 1, 0, 0, 0),
        (_SET_FILTER, _MODE_FILTER, ctypes.addressof(program), 0, 0),
    ):
        if library.prctl(*(ctypes.c_ulong(value) for value in arguments)) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
