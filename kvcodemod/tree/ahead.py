"""Work that a second process does while this one goes on."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import IO, Any


class Ahead:
    """Runs a generator at once; `next` waits for its next result.

    The work is done in a copy of this process, so that nothing has to be handed over,
    and its results come back as JSON. Where there is no such copy to be had, or it
    fails, the work is done here when a result is asked for: it comes out the same.
    """

    def __init__(
        self, work: Callable[[], Iterable[Any]], cores: int | None = None
    ) -> None:
        """Start the work; `cores` are those of this machine."""
        self._work = work
        self._pid = 0
        self._stream: IO[bytes] | None = None
        self._here: Iterator[Any] | None = None
        self._given = 0
        count = cores if cores is not None else core_count()
        if count < 2 or not hasattr(os, "fork") or _threads() > 1:
            return  # a copy would have the locks of the other threads, and not these
        read, write = os.pipe()
        try:
            self._pid = os.fork()
        except OSError:
            os.close(read)
            os.close(write)
            return
        if self._pid == 0:
            status = 1
            try:
                os.close(read)
                with os.fdopen(write, "wb") as stream:
                    for value in work():
                        stream.write(json.dumps(value).encode() + b"\n")
                        stream.flush()
                status = 0
            finally:
                os._exit(status)  # no clean-up of what belongs to the first process
        os.close(write)
        self._stream = os.fdopen(read, "rb")

    def next(self) -> Any:
        """The next result of the work.

        Raises:
            StopIteration: there is none left.
        """
        if self._stream is not None:
            line = self._stream.readline()
            if line.endswith(b"\n"):
                self._given += 1
                return json.loads(line)
            self.close()
        if self._here is None:
            self._here = iter(self._work())
            for _ in range(self._given):
                next(self._here)
        return next(self._here)

    def close(self) -> None:
        """End the second process, wherever it stands."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None
            with contextlib.suppress(OSError):
                os.kill(self._pid, signal.SIGTERM)
                os.waitpid(self._pid, 0)


def core_count() -> int:
    """The cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _threads() -> int:
    """The threads of this process, also those that Python did not start."""
    try:
        return len(os.listdir("/proc/self/task"))  # noqa: PTH208  (names are enough)
    except OSError:
        return threading.active_count()
