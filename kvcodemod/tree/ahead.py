"""Work that a second process does while this one goes on."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from typing import Any


class Ahead:
    """Starts a piece of work at once; `result` waits for it.

    The work is done in a copy of this process, so that nothing has to be handed over,
    and its result comes back as JSON. Where there is no such copy to be had, or it
    fails, the work is done here when the result is asked for: it comes out the same.
    """

    def __init__(self, work: Callable[[], Any], cores: int | None = None) -> None:
        """Start the work."""
        self._work = work
        self._pid = 0
        self._pipe = -1
        count = cores if cores is not None else _cores()
        if count < 2 or not hasattr(os, "fork") or threading.active_count() > 1:
            return
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
                    stream.write(json.dumps(work()).encode())
                status = 0
            finally:
                os._exit(status)  # no clean-up of what belongs to the first process
        os.close(write)
        self._pipe = read

    def result(self) -> Any:
        """What the work came to; to be asked for once."""
        if not self._pid:
            return self._work()
        with os.fdopen(self._pipe, "rb") as stream:
            data = stream.read()
        _, status = os.waitpid(self._pid, 0)
        if status:
            return self._work()
        return json.loads(data)


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
