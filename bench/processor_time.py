"""Processor times of runs in this process, least of several: for the peers of benches on a CPU."""
import math
import time

# Seconds of the runs whose processor time is read at once, as in processor-time.ts, and of the sleep before it is read.
TOGETHER, SETTLED = 0.02, 0.001


def measure(run, seconds):
    """The least processor time and the least time, in seconds, of runs that take `seconds` together, three or more."""
    run()
    processor = elapsed = float("inf")
    begin, count, together = time.perf_counter(), 0, 1
    while count < 3 or time.perf_counter() - begin < seconds:
        time.sleep(SETTLED)
        before = time.process_time()
        for _ in range(together):
            at = time.perf_counter()
            run()
            elapsed = min(elapsed, time.perf_counter() - at)
        time.sleep(SETTLED)
        processor = min(processor, (time.process_time() - before) / together)
        count += together
        together = max(1, math.ceil(TOGETHER / elapsed))
    return processor, elapsed
