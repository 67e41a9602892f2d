/** Inputs of the host that several phases read: devices keep their shares where they have room, with the same bits. */

import { afterEach, describe, expect, it } from 'vitest';
import type { Plan } from '../../src/exec/plan/plan.js';
import { planGraph } from '../../src/exec/run/planned.js';
import { gpu } from '../../src/exec/targets/device.js';
import { canonicalize } from '../../src/fusion/passes/canonicalize.js';
import { compute, type Lazy, lazy, type NDArray } from '../../src/index.js';
import { setDevices, setSchedule, show, takeProblems } from './simulator.js';

setDevices(Array.from({ length: 4 }, () => ({ memory: 2 ** 26 })));
afterEach(() => setSchedule({ timing: 'late', seed: 1 }));

const [ROWS, COLUMNS] = [2 ** 12 + 40, 32];
const BYTES = ROWS * COLUMNS * 4;
const x = lazy(Float32Array.from({ length: ROWS * COLUMNS }, (_, k) => Math.sin(k))).reshape([ROWS, COLUMNS]);
const WORKS: Readonly<Record<string, readonly Lazy[]>> = {
  'standardized columns': [x.sub(x.mean(0)).div(x.std(0))],
  'distances from the mean, and the largest': [x.sub(x.mean(0)).abs().max(0)],
  'neighbours, and means': [x.slice('1:').sub(x.slice(':-1')).sub(x.mean(0)).sum(1)],
};

const planOf = (work: readonly Lazy[], devices: number, budget?: number): Plan => {
  const gpus = Array.from({ length: devices }, (_, k) => gpu(k));
  const bounds = { budget, hostBudget: undefined };
  const target = {
    devices: gpus,
    isSharded: true,
    exact: false,
    tune: false,
    ...bounds,
    destination: 'host',
  } as const;
  return planGraph(canonicalize(work.map(({ expr }) => expr)), target).plan;
};

/** Bytes of inputs that are copied from the host to devices. */
function broughtIn({ values, phases }: Plan): number {
  let bytes = 0;
  for (const { plan } of phases.flatMap(({ runs }) => runs))
    for (const step of plan.steps)
      for (const { buffer, slots, windows } of step.kind === 'sweep' ? step.windows : [])
        if (values[buffer]!.role === 'input' && slots > 0)
          for (let at = 0; at < windows.length; at += 6)
            if (windows[at + 1] === 1) bytes += windows[at + 3]! * windows[at + 4]!;
  return bytes;
}

const bitsOf = ({ data }: NDArray): Buffer => Buffer.from(data.buffer, data.byteOffset, data.byteLength);
const bytesOf = async (work: readonly Lazy[], options: object): Promise<Buffer[]> =>
  (await compute(work, options)).map(bitsOf);

describe('an input that several phases read', () => {
  it.each(Object.entries(WORKS))('goes over the bus once: %s', async (_, work) => {
    const wanted = await bytesOf(work, { device: 'cuda:0' });
    for (const devices of [2, 3, 4]) {
      expect(broughtIn(planOf(work, devices))).toBeLessThan(1.1 * BYTES);
      for (const timing of ['late', 'random', 'eager'] as const) {
        setSchedule({ timing, seed: devices });
        expect(await bytesOf(work, { devices })).toEqual(wanted);
      }
    }
    expect(takeProblems().map(show)).toEqual([]);
  });

  it('is brought for each phase where devices have no room for their shares', async () => {
    const work = WORKS['standardized columns']!;
    const plan = planOf(work, 2, BYTES / 4);
    expect(Math.max(...plan.peakBytes)).toBeLessThanOrEqual(BYTES / 4);
    const wanted = await bytesOf(work, { device: 'cuda:0' });
    expect(await bytesOf(work, { devices: 2, memory: BYTES / 4 })).toEqual(wanted);
  });
});
