/**
 * Calls that fail on devices that nothing has run on, and devices that are lost: the next run is right, or
 * says at once that the device is lost.
 */
import { afterEach, describe, expect, it } from 'vitest';
import { DeviceLostError } from '../../src/host/errors.js';
import { lazy } from '../../src/index.js';
import { CANNOT_FAIL, checkOutcome, outcomeOf } from './fault-outcomes.js';
import { bitsOf, CASES, footprint } from './programs.js';
import { describeSimulator, type Fault, setDevices, setFaults } from './simulator.js';

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

/** Of programs whose device is lost. */
let turn = 0;

/** Programs that launch kernels, and that multiply matrices. */
const SOME = CASES.filter(([name]) => /chain of three|layer norm|histogram by masks/.test(name));

describe('a device on which a call fails while it is opened, or code is loaded', () => {
  it.each(SOME)('runs "%s" when it is tried again', async (_, { outputs }) => {
    const wanted = await bitsOf(outputs, 'cuda');
    setFaults([]);
    const before = await footprint(nextDevice());
    const normal = nextDevice();
    await bitsOf(outputs, `cuda:${normal}`);
    const { counts } = describeSimulator();
    const added = difference(before, await footprint(normal));
    for (const call of Object.keys(counts).filter((name) => /^cu/.test(name) && !CANNOT_FAIL.has(name))) {
      const device = nextDevice();
      const start = await footprint(device);
      const fault: Fault = { call, nth: 1, status: call.startsWith('cublas') ? 13 : UNKNOWN };
      setFaults([fault]);
      const outcome = await outcomeOf(outputs, `cuda:${device}`);
      const { faultsMet } = describeSimulator();
      setFaults([]);
      expect({ call, faultsMet }).toEqual({ call, faultsMet: 1 });
      checkOutcome(outcome, wanted, fault);
      expect(await bitsOf(outputs, `cuda:${device}`)).toEqual(wanted);
      expect({ call, added: difference(start, await footprint(device)) }).toEqual({ call, added });
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
    // Most programs have the first two: by turns, and the others in each.
    const isTurn = ([call]: readonly [string, number]): boolean =>
      call === 'run launch' ? turn % 2 === 0 : call === 'run copy' ? turn % 2 === 1 : true;
    const some = kinds.filter(isTurn);
    turn++;
    for (const [call, count] of some.length > 0 ? some : kinds) {
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
