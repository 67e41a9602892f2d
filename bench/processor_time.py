"""Processor times of runs in this process, least of several: for the peers of benches on a CPU."""
import time


def measure(run, seconds):
    """The least processor time and the least time, in seconds, of runs that take `seconds` together, three or more."""
    run()
    processor = elapsed = float("inf")
    begin, count = time.perf_counter(), 0
    while count < 3 or time.perf_counter() - begin < seconds:
        before, at = time.process_time(), time.perf_counter()
        run()
        processor = min(processor, time.process_time() - before)
        elapsed = min(elapsed, time.perf_counter() - at)
        count += 1
    return processor, elapsed
