"""How much memory rows may take."""

import os


def default_memory() -> int:
    """A quarter of the memory that is free, and that limits of the process leave."""
    return max(2**20, min(_free(), *_limits()) // 4)


def _free() -> int:
    found = _field("/proc/meminfo", "MemAvailable")
    if found is not None:
        return found
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, ValueError, OSError):
        return 2**32


def _limits() -> list[int]:
    """What the limits of the process leave it, if it has any."""
    no_limit = 2**62
    try:
        import resource
    except ImportError:  # not on Windows
        return [no_limit]
    left = [no_limit]
    for kind, field in ((resource.RLIMIT_AS, "VmSize"), (resource.RLIMIT_DATA, "VmData")):
        most = resource.getrlimit(kind)[0]
        if most != resource.RLIM_INFINITY:
            left.append(max(0, most - (_field("/proc/self/status", field) or 0)))
    return left


def _field(path: str, name: str) -> int | None:
    """Bytes that a file of Linux says."""
    try:
        with open(path) as lines:
            for line in lines:
                if line.startswith(f"{name}:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None
