/**
 * Whatever call fails, at whatever time: a run rejects with the right error or is right all the same, nothing is left
 * behind, and the next run is right, or says at once that the device is lost.
 */
import { afterEach, describe, expect, it } from 'vitest';
import { CompileError, DeviceError, DeviceLostError, MemoryError } from '../../src/errors.js';
import { arange, type Lazy, lazy } from '../../src/index.js';
import { bitsOf, CASES, footprint } from './programs.js';
import { describeSimulator, type Fault, setDevices, setFaults, stall } from './simulator.js';

const OUT_OF_MEMORY = 2;
const UNKNOWN = 999;
const ILLEGAL_ADDRESS = 700;
const LAUNCH_FAILED = 719;

/** Device 0 is never lost; each test that loses one, or wants a fresh one, takes the next. */
const DEVICES = 400;
setDevices(Array.from({ length: DEVICES }, () => ({ memory: 2 ** 26 })));
let fresh = 1;
const nextDevice = (): number => {
  if (fresh === DEVICES) throw new Error('no device is left');
  return fresh++;
};

afterEach(() => {
  setFaults([]);
});

/** A run's outcome as plain data. */
async function outcomeOf(outputs: readonly Lazy[], device: string): Promise<Buffer[] | Error> {
  try {
    return await bitsOf(outputs, device);
  } catch (error) {
    if (error instanceof Error) return error;
    throw error;
  }
}

/** Some of the times a call is made: first, last, and in between. How often an event is asked depends on the clock. */
const someOf = (call: string, count: number): number[] =>
  call === 'cuEventQuery' ? [1] : [...new Set([1, 2, Math.ceil(count / 2), count])].filter((n) => n <= count);

/** `WEFT_FAULTS=all`: every time with every status. Without it, times between the first and the last take turns. */
const EVERY = process.env.WEFT_FAULTS === 'all';
let turn = 0;

/** The statuses that a call fails with at one of its times. */
function statusesAt(call: string, nth: number, count: number): readonly number[] {
  const both = call.startsWith('cublas') ? [3, 13] : [OUT_OF_MEMORY, UNKNOWN];
  return EVERY || nth === 1 || nth === count ? both : [both[turn++ % 2]!];
}

/** Calls that tell or give back: no status of theirs is a failure of the run, short of a lost device. */
const CANNOT_FAIL = new Set([
  'cuEventDestroy_v2',
  'cuMemFreeAsync',
  'cuMemGetInfo_v2',
  'cuPointerGetAttribute',
]);

/** What a failing call may end a run with. */
function allowedErrors(call: string, status: number): readonly (new (...args: never[]) => Error)[] {
  if (status === OUT_OF_MEMORY) return [MemoryError];
  return call.startsWith('cublas') ? [DeviceError, MemoryError] : [DeviceError];
}

function checkOutcome(outcome: Buffer[] | Error, wanted: readonly Buffer[], fault: Fault): void {
  if (outcome instanceof Error) {
    const allowed = allowedErrors(fault.call, fault.status!);
    expect(
      allowed.some((type) => outcome instanceof type) ? 'allowed' : `${outcome.name}: ${outcome.message}`,
    ).toBe('allowed');
    expect(outcome).not.toBeInstanceOf(DeviceLostError);
    expect(outcome.message).toContain('while computing');
  } else {
    expect(outcome).toEqual(wanted);
  }
}

describe('a call that fails', () => {
  it.each(CASES)('ends a run of "%s" cleanly, and the next is right', async (_, { outputs }) => {
    const wanted = await bitsOf(outputs, 'cuda');
    setFaults([]);
    await bitsOf(outputs, 'cuda');
    const { counts } = describeSimulator();
    const left = footprint();
    const calls = Object.entries(counts).filter(([call]) => /^cu/.test(call) && !CANNOT_FAIL.has(call));
    for (const [call, count] of calls) {
      for (const nth of someOf(call, count)) {
        for (const status of statusesAt(call, nth, count)) {
          const fault: Fault = { call, nth, status };
          setFaults([fault]);
          const outcome = await outcomeOf(outputs, 'cuda');
          const { faultsMet } = describeSimulator();
          expect({ fault, faultsMet }).toEqual({ fault, faultsMet: 1 });
          setFaults([]);
          checkOutcome(outcome, wanted, fault);
          expect({ fault, left: footprint() }).toEqual({ fault, left });
        }
      }
      expect(await bitsOf(outputs, 'cuda')).toEqual(wanted);
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

/** Programs that launch kernels, and that multiply matrices. */
const SOME = CASES.filter(([name]) => /chain of three|layer norm|histogram by masks/.test(name));

describe('a device on which a call fails while it is opened, or code is loaded', () => {
  it.each(SOME)('runs "%s" when it is tried again', async (_, { outputs }) => {
    const wanted = await bitsOf(outputs, 'cuda');
    setFaults([]);
    const before = footprint(nextDevice());
    const normal = nextDevice();
    await bitsOf(outputs, `cuda:${normal}`);
    const { counts } = describeSimulator();
    const added = difference(before, footprint(normal));
    for (const call of Object.keys(counts).filter((name) => /^cu/.test(name) && !CANNOT_FAIL.has(name))) {
      const device = nextDevice();
      const start = footprint(device);
      const fault: Fault = { call, nth: 1, status: call.startsWith('cublas') ? 13 : UNKNOWN };
      setFaults([fault]);
      const outcome = await outcomeOf(outputs, `cuda:${device}`);
      const { faultsMet } = describeSimulator();
      setFaults([]);
      expect({ call, faultsMet }).toEqual({ call, faultsMet: 1 });
      checkOutcome(outcome, wanted, fault);
      expect(await bitsOf(outputs, `cuda:${device}`)).toEqual(wanted);
      expect({ call, added: difference(start, footprint(device)) }).toEqual({ call, added });
    }
  });
});

function difference(
  from: Readonly<Record<string, number>>,
  to: Readonly<Record<string, number>>,
): Record<string, number> {
  return Object.fromEntries(Object.entries(to).map(([name, count]) => [name, count - (from[name] ?? 0)]));
}

describe('a device that is lost', () => {
  it.each(CASES)('by work of "%s" says so at once and for good, and others go on', async (_, { outputs }) => {
    const wanted = await bitsOf(outputs, 'cuda');
    setFaults([]);
    await bitsOf(outputs, 'cuda');
    const { counts } = describeSimulator();
    const kinds = Object.entries(counts).filter(([call]) => /^run (launch|copy|set|product)$/.test(call));
    for (const [call, count] of kinds) {
      const device = `cuda:${nextDevice()}`;
      setFaults([{ call, nth: Math.ceil(count / 2), status: ILLEGAL_ADDRESS, sticky: true }]);
      const outcome = await outcomeOf(outputs, device);
      expect(describeSimulator().faultsMet).toBe(1);
      setFaults([]);
      expect(outcome).toBeInstanceOf(DeviceLostError);
      expect(outcome).toMatchObject({ status: 'CUDA_ERROR_ILLEGAL_ADDRESS' });
      const { counts: none } = describeSimulator();
      expect(await outcomeOf(outputs, device)).toBeInstanceOf(DeviceLostError);
      // It does not ask the driver again.
      expect(describeSimulator().counts).toEqual(none);
      expect(await bitsOf(outputs, 'cuda')).toEqual(wanted);
    }
  });

  it.each([
    'cuMemcpyHtoDAsync_v2',
    'cuLaunchKernel',
    'cuMemcpyDtoHAsync_v2',
    'cuEventRecord',
    'cuEventQuery',
    'cuModuleLoadData',
    'cuMemAllocFromPoolAsync',
  ])('in %s is a DeviceLostError with its status', async (call) => {
    const x = lazy(new Float32Array(500).fill(0.5)).multiply(3).sum();
    const wanted = await bitsOf([x], 'cuda');
    const device = `cuda:${nextDevice()}`;
    setFaults([{ call, nth: 1, status: LAUNCH_FAILED, sticky: true }]);
    const outcome = await outcomeOf([x], device);
    setFaults([]);
    expect(outcome).toBeInstanceOf(DeviceLostError);
    expect(outcome).toMatchObject({ status: 'CUDA_ERROR_LAUNCH_FAILED' });
    expect(await outcomeOf([x], device)).toBeInstanceOf(DeviceLostError);
    expect(await bitsOf([x], 'cuda')).toEqual(wanted);
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
      const left = footprint();
      setFaults([{ call, nth: 1, status }]);
      expect(await outcomeOf([x], 'cuda')).toBeInstanceOf(CompileError);
      expect(describeSimulator().faultsMet).toBe(1);
      setFaults([]);
      expect(footprint()).toEqual(left);
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
    setFaults([{ call: 'run launch', nth: 1, delayMs: 300 }]);
    let turns = 0;
    const timer = setInterval(() => turns++, 5);
    await bitsOf([x], 'cuda');
    clearInterval(timer);
    setFaults([]);
    expect(turns).toBeGreaterThan(10);
  });

  it('stops at an AbortSignal between steps', async () => {
    let y = arange(100, { dtype: 'float32' });
    for (let i = 0; i < 40; i++) y = y.add(1).sum().add(y).multiply(0.01);
    await bitsOf([y], 'cuda');
    const left = footprint();
    const controller = new AbortController();
    setFaults([{ call: 'cuLaunchKernel', nth: 0, delayMs: 20 }]);
    const stopped = y.compute({ device: 'cuda', signal: controller.signal });
    setTimeout(() => controller.abort(), 50);
    await expect(stopped).rejects.toMatchObject({ name: 'AbortError' });
    expect(describeSimulator().counts.cuLaunchKernel).toBeLessThan(20);
    setFaults([]);
    expect(footprint()).toEqual(left);
  });
});
