"""Starts an agent's program under limits. Run as a script by ``sandbox``, in an interpreter of its own.

Arguments: ``namespaces`` or ``none``; limits on processor seconds, memory and file bytes; the program's file.
Only the standard library is imported: inside bubblewrap nothing else may be visible.
"""

import ctypes
import os
import resource
import signal
import sys

_CLONE_NEWUSER, _CLONE_NEWPID, _CLONE_NEWNET, _CLONE_NEWIPC = 0x10000000, 0x20000000, 0x40000000, 0x08000000
_PR_SET_PDEATHSIG = 1
NO_NAMESPACES = 99
"""Exit code when the system refuses the namespaces that were asked for."""


def main(isolation: str, cpu_s: int, memory: int, file_bytes: int, program: str) -> None:
    """Isolates this process as far as asked, sets the limits, and becomes the program."""
    if isolation == "namespaces":
        _enter_namespaces()
    for limit, value in (
        (resource.RLIMIT_CPU, cpu_s),
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_FSIZE, file_bytes),
        (resource.RLIMIT_NOFILE, 64),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NPROC, 0),
    ):
        resource.setrlimit(limit, (value, value))
    os.execv(sys.executable, [sys.executable, "-I", "-B", "-u", program])


def _enter_namespaces() -> None:
    """Leaves the network, other processes and the parent's privileges behind.

    The first child is process 1 of the new namespace: with it, everything that the program started ends.
    """
    libc = ctypes.CDLL(None)
    if libc.unshare(_CLONE_NEWUSER | _CLONE_NEWPID | _CLONE_NEWNET | _CLONE_NEWIPC) != 0:
        sys.exit(NO_NAMESPACES)
    for _ in ("process 1", "the program"):
        child = os.fork()
        if child:
            _, status = os.waitpid(child, 0)
            code = os.waitstatus_to_exitcode(status)
            os._exit(code if code >= 0 else 128 - code)
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
