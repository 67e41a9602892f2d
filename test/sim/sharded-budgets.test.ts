/**
 * On several devices no schedule holds more memory on any of them than the plan says, which is no more than
 * the budget.
 */
import { describe, expect, it } from 'vitest';
import {
  type BufferSpec,
  createProgram,
  memory,
  type NativeProgram,
  run,
} from '../../src/exec/native/native.js';
import { synchronize } from '../../src/exec/run/synchronize.js';
import type { DeviceBuffer } from '../../src/graph/expr.js';
import { type ComputeOptions, compute, type Lazy, type NDArray, plan, trim } from '../../src/index.js';
import {
  BUDGET_JOBS,
  bitsOf,
  budgetJob,
  enoughFor,
  hasVendorProducts,
  leastBudgetOf,
  WRITTEN_JOBS,
} from '../support/budget-corpus.js';
import { generator } from '../support/random.js';
import { describeSimulator, setDevices, setSchedule, show, takeProblems } from './simulator.js';

const MOST_DEVICES = 5;
setDevices(
  Array.from({ length: MOST_DEVICES }, (_, k) => ({ memory: 2 ** 28, unreachable: k === 2 ? [0] : [] })),
);

const TIMINGS = ['late', 'random', 'eager'] as const;
const SCHEDULES = Number(process.env.WEFT_SIM_SCHEDULES ?? 3);
const SEED = Number(process.env.BUDGET_SEED ?? 1);

/** Computes under a schedule; `over`: the devices that held more than planned, or more than the budget. */
async function metered(
  work: readonly Lazy[],
  options: ComputeOptions & { readonly memory: number },
  seed: number,
): Promise<{ readonly found: readonly NDArray[]; readonly over: readonly string[] }> {
  await trim();
  expect(takeProblems().map(show)).toEqual([]); // the peak is watched anew
  const before = describeSimulator().devices.map(({ inUse }) => inUse);
  setSchedule({ timing: TIMINGS[seed % TIMINGS.length]!, seed });
  const found = await compute(work, options);
  const held = describeSimulator().devices.map(({ peak }, d) => peak - (before[d] ?? 0));
  const over = plan(work, options).devices.flatMap(({ device, peakBytes }, d) =>
    held[d]! <= peakBytes && peakBytes <= options.memory
      ? []
      : [`${device} at ${options.memory}, seed ${seed}: planned ${peakBytes}, held ${held[d]}`],
  );
  return { found, over };
}

describe('the memory of several devices', () => {
  it('has nothing of what a device has read of another one, once it is synchronized with', async () => {
    const byteLength = 2 ** 16;
    const made = { role: 'output', byteLength, offset: 0 } as const;
    const programOn = (device: string, read: readonly BufferSpec[]): NativeProgram => {
      const steps = [{ kind: 'zero', buffer: read.length }] as const;
      return createProgram({ device, buffers: [...read, made], arenaByteLength: 0, images: [], steps });
    };
    const maker = programOn('cuda:1', []);
    const reader = programOn('cuda:0', [{ ...made, role: 'input' }]);
    const inUse = (): number => memory().find(({ device }) => device === 'cuda:1')!.inUse;
    const outputs = ['device'] as const;
    for (let k = 0; k < 500; k++) {
      const [piece] = (await run(maker, [], { outputs })).outputs as [DeviceBuffer];
      const input = { pieces: [{ buffer: piece, first: 0 }] };
      const read = await run(reader, [input], { outputs, ahead: true });
      await synchronize('cuda:0');
      piece.dispose();
      expect({ k, inUse: inUse() }).toEqual({ k, inUse: 0 });
      for (const output of read.outputs as readonly DeviceBuffer[]) output.dispose();
    }
  });

  it.each([2, 3, 4, 5])('of %i is enough where a refusal names so much', (devices) => {
    for (let k = devices; k < WRITTEN_JOBS; k += 2 * MOST_DEVICES) {
      const { results } = budgetJob(k, 1 / 4);
      const least = leastBudgetOf(results, { devices });
      for (const memory of [1, least, 2 * least]) {
        for (const budgets of [{ memory }, { memory, hostMemory: 1 }]) {
          const enough = enoughFor(results, { devices, ...budgets });
          expect(plan(results, enough).peakBytes).toBeLessThanOrEqual(enough.memory as number);
        }
      }
    }
  });

  const count = Number(process.env.BUDGET_JOBS ?? 4);
  it(`is within the budget whatever the schedule, for ${count} jobs of seed ${SEED} on 2 to 5 devices`, async () => {
    const random = generator(SEED);
    const pick = (from: number, to: number): number => from + Math.floor(random() * (to - from));
    const wrong: string[] = [];
    for (let n = 0; n < count; n++) {
      const k = n % 2 === 0 ? pick(0, WRITTEN_JOBS) : pick(WRITTEN_JOBS, BUDGET_JOBS);
      const { name, results } = budgetJob(k, 1 / 2);
      const devices = 2 + (n % (MOST_DEVICES - 1));
      const whole = plan(results, { devices }).peakBytes;
      if (whole === 0) continue;
      const least = leastBudgetOf(results, { devices });
      const wanted = await compute(results, { device: 'cuda:0' });
      const isExact = !hasVendorProducts(results, 'cuda:0');
      for (const memory of new Set([Math.floor(Math.sqrt(whole * least)), least])) {
        for (let seed = 0; seed < SCHEDULES; seed++) {
          const { found, over } = await metered(results, { devices, memory }, seed);
          wrong.push(...over.map((line) => `${name}: ${line}`));
          const isSame = found.every((array, r) => bitsOf(array).equals(bitsOf(wanted[r]!)));
          if (isExact && !isSame) wrong.push(`${name}: other bits at ${memory}, seed ${seed}`);
        }
      }
    }
    expect(wrong).toEqual([]);
  }, 600_000);
});
