/**
 * Whatever call fails, at whatever time: a run rejects with the right error or is right all the same, nothing
 * is left behind, and the next run is right. Of lost devices: `lost-devices.test.ts`.
 */
import { setImmediate } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { CompileError, MemoryError } from '../../src/host/errors.js';
import { arange, type Lazy } from '../../src/index.js';
import { CANNOT_FAIL, checkOutcome, OUT_OF_MEMORY, outcomeOf } from './fault-outcomes.js';
import { bitsOf, CASES, footprint, settledBitsOf } from './programs.js';
import { describeSimulator, type Fault, hold, setDevices, setFaults, stall } from './simulator.js';

type Footprint = Awaited<ReturnType<typeof footprint>>;

const UNKNOWN = 999;

setDevices([{ memory: 2 ** 26 }]);

afterEach(() => {
  setFaults([]);
});

/** `WEFT_FAULTS=all`: every one of the times with every status for each program. Without it, they take turns. */
const EVERY = process.env.WEFT_FAULTS === 'all';

/** In how many programs calls were let fail, by their names. */
const turns = new Map<string, number>();

interface Failure {
  readonly nth: number;
  readonly status: number;
}

/**
 * Some of the times a call is made, first, last and in between, and what it fails with: all of them for the first program
 * that makes it, for each other one two that come next. How often an event is asked depends on the clock.
 */
function failuresOf(call: string, count: number): Failure[] {
  const some = [1, 2, Math.ceil(count / 2), count].filter((n) => n <= count);
  const times = call === 'cuEventQuery' ? [1] : [...new Set(some)];
  const statuses = call.startsWith('cublas') ? [3, 13] : [OUT_OF_MEMORY, UNKNOWN];
  const turn = turns.get(call) ?? 0;
  turns.set(call, turn + 1);
  if (EVERY || turn === 0) return times.flatMap((nth) => statuses.map((status) => ({ nth, status })));
  const at = (k: number): number => times[(turn + k) % times.length]!;
  return statuses.map((status, k) => ({ nth: at(k * Math.ceil(times.length / 2)), status }));
}

/**
 * A footprint in which fewer events count as as many: runs in a row, as those of a look-up and of its
 * indices, may begin before the event of the one before is free, and make one more, or not.
 */
const noFewerEvents = (now: Footprint, left: Footprint): Footprint => ({
  ...now,
  events: Math.max(now.events ?? 0, left.events ?? 0),
});

describe('a call that fails', () => {
  it.each(CASES)('ends a run of "%s" cleanly, and the next is right', async (_, { outputs }) => {
    const wanted = await settledBitsOf(outputs, 'cuda');
    setFaults([]);
    const before = describeSimulator().interrupts;
    await bitsOf(outputs, 'cuda');
    const { counts, interrupts } = describeSimulator();
    expect(interrupts).toBe(before);
    const left = await footprint();
    const calls = Object.entries(counts).filter(([call]) => /^cu/.test(call) && !CANNOT_FAIL.has(call));
    for (const [call, count] of calls) {
      for (const failure of failuresOf(call, count)) {
        const fault: Fault = { call, ...failure };
        setFaults([fault]);
        const outcome = await outcomeOf(outputs, 'cuda');
        const { faultsMet } = describeSimulator();
        expect({ fault, faultsMet }).toEqual({ fault, faultsMet: 1 });
        setFaults([]);
        checkOutcome(outcome, wanted, fault);
        expect({ fault, left: noFewerEvents(await footprint(), left) }).toEqual({ fault, left });
      }
      expect(await bitsOf(outputs, 'cuda')).toEqual(wanted);
      expect(noFewerEvents(await footprint(), left)).toEqual(left);
    }
  });

  it('by want of memory is survived if memory can be given back, and is a MemoryError if not', async () => {
    const x = arange(1000, { dtype: 'float32' }).add(1);
    const wanted = await bitsOf([x], 'cuda');
    setFaults([{ call: 'cuMemAllocFromPoolAsync', nth: 1, status: OUT_OF_MEMORY }]);
    expect(await bitsOf([x], 'cuda')).toEqual(wanted);
    setFaults([{ call: 'cuMemAllocFromPoolAsync', nth: 0, status: OUT_OF_MEMORY }]);
    expect(await outcomeOf([x], 'cuda')).toBeInstanceOf(MemoryError);
    setFaults([]);
  });
});

describe('a compiler that fails', () => {
  let seed = 0;
  /** A kernel that was not compiled before. */
  const unseen = (): Lazy => {
    let x = arange(10, { dtype: 'float32' });
    for (let bit = ++seed; bit > 0; bit >>= 1) x = bit % 2 === 1 ? x.add(x.sqrt()) : x.multiply(x.square());
    return x.tanh();
  };
  it.each([
    ['nvrtcCreateProgram', 2],
    ['nvrtcCompileProgram', 1],
    ['nvrtcCompileProgram', 6],
    ['nvrtcCompileProgram', 11],
  ] as const)(
    'in %s with status %d is a CompileError, and is asked again by the next run',
    async (call, status) => {
      const x = unseen();
      await bitsOf([arange(3)], 'cuda');
      const left = await footprint();
      setFaults([{ call, nth: 1, status }]);
      expect(await outcomeOf([x], 'cuda')).toBeInstanceOf(CompileError);
      expect(describeSimulator().faultsMet).toBe(1);
      setFaults([]);
      expect(await footprint()).toEqual(left);
      expect(await outcomeOf([x], 'cuda')).not.toBeInstanceOf(Error);
    },
  );
});

describe('a device that is slow', () => {
  const x = arange(3000, { dtype: 'float32' }).multiply(2).sum();
  it('gives the right result when a stream stands still for a while', async () => {
    const wanted = await bitsOf([x], 'cuda');
    for (let stream = 0; stream < 4; stream++) {
      stall(stream, 120);
      expect(await bitsOf([x], 'cuda')).toEqual(wanted);
    }
  });

  it('does not hold up the event loop', async () => {
    const launch = hold('run launch');
    let [turns, isDone] = [0, false];
    const computing = bitsOf([x], 'cuda').finally(() => {
      isDone = true;
    });
    await launch.reached();
    while (turns++ < 10) await setImmediate();
    expect(isDone).toBe(false);
    launch.release();
    await computing;
  });

  it('stops at an AbortSignal between steps', async () => {
    let y = arange(100, { dtype: 'float32' });
    for (let i = 0; i < 40; i++) y = y.add(1).sum().add(y).multiply(0.01);
    await bitsOf([y], 'cuda');
    const left = await footprint();
    const controller = new AbortController();
    const launch = hold('cuLaunchKernel', 3);
    const stopped = y.compute({ device: 'cuda', signal: controller.signal });
    await launch.reached();
    controller.abort();
    launch.release();
    await expect(stopped).rejects.toMatchObject({ name: 'AbortError' });
    expect(describeSimulator().counts.cuLaunchKernel ?? 0).toBeLessThan(20);
    expect(await footprint()).toEqual(left);
  });
});
