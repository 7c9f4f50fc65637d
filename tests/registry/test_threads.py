from __future__ import annotations

import asyncio
import subprocess
import sys
import threading

import pytest

from kitstudio.registry.threads import DISK_WORKERS, NETWORK_WORKERS, Cancelled, Stop, in_thread, on_network


async def test_answer_and_failure_come_back_from_the_thread() -> None:
    assert await in_thread(lambda stop, a, b: a + b, 1, b=2) == 3

    def failing(stop: Stop) -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await in_thread(failing)


async def test_no_more_threads_run_than_the_pool_has() -> None:
    running, most, lock = 0, 0, threading.Lock()
    gate = threading.Event()

    def work(stop: Stop) -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
            if running == NETWORK_WORKERS:
                gate.set()
        gate.wait(10)
        with lock:
            running -= 1

    await asyncio.gather(*(on_network(work) for _ in range(40)))
    assert most == NETWORK_WORKERS


async def test_silent_network_does_not_hold_up_the_disk() -> None:
    gate = threading.Event()
    stuck = [asyncio.create_task(on_network(lambda stop: gate.wait(10))) for _ in range(NETWORK_WORKERS + 2)]
    assert await asyncio.gather(*(in_thread(lambda stop: "read") for _ in range(DISK_WORKERS + 2)))
    gate.set()
    assert all(await asyncio.gather(*stuck))


async def test_cancelled_task_stops_its_worker() -> None:
    begun, ended = threading.Event(), threading.Event()

    def work(stop: Stop) -> None:
        begun.set()
        try:
            stop.wait(30)
        except Cancelled:
            ended.set()
            raise

    task = asyncio.create_task(in_thread(work))
    assert await asyncio.to_thread(begun.wait, 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(ended.wait, 10)


def test_program_ends_though_a_worker_is_stuck() -> None:
    program = """
import asyncio, threading
from kitstudio.registry.threads import on_network
async def main():
    task = asyncio.create_task(on_network(lambda stop: threading.Event().wait(600)))
    await asyncio.sleep(0)
    task.cancel()
asyncio.run(main())
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=30)
