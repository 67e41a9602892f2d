/**
 * Budgets do not change bits: random graphs over large arrays, planned for ever smaller budgets and run on
 * the CPU, give what they give as a whole. With `WEFT_POISON=1` tiles see nothing but their windows, as on a
 * GPU.
 */
import { describe, expect, it } from 'vitest';
import { tapeWorks } from '../../src/codegen/cpu/tape-work.js';
import type * as Native from '../../src/exec/native/native.js';
import type { DevicePlan } from '../../src/exec/plan/plan.js';
import { type DeviceModel, planPartition } from '../../src/exec/plan/plan-graph.js';
import { numbersFor } from '../../src/exec/run/run-numbers.js';
import { CPU_MODEL } from '../../src/exec/targets/cpu.js';
import { cpuProgram } from '../../src/exec/targets/program-cpu.js';
import { type Partition, partition } from '../../src/fusion/partition/partition.js';
import { type Canonical, canonicalize } from '../../src/fusion/passes/canonicalize.js';
import { runPasses } from '../../src/fusion/passes/pipeline.js';
import type { Graph } from '../../src/graph/graph.js';
import { MemoryError } from '../../src/index.js';
import { largeGraph } from '../support/large-graph.js';
import { nativeWith } from '../support/native-with.js';
import { bytesOf } from '../support/sweep-runner.js';

/** As on a GPU: inputs and results are on the device in windows, too. */
const DEVICE_MODEL: DeviceModel = {
  ...CPU_MODEL,
  heldBytes: ({ byteLength }) => byteLength,
  sweeps: { ...CPU_MODEL.sweeps!, worksOf: tapeWorks, canSpill: true, slots: { in: 3, out: 2, local: 1 } },
};

interface Job {
  readonly canonical: Canonical;
  readonly graph: Graph;
  readonly parts: Partition;
  readonly steps: readonly string[];
}

function jobOf(seed: number): Job {
  const { results, steps } = largeGraph(seed);
  const canonical = canonicalize(results.map(({ expr }) => expr));
  const graph = runPasses(canonical.graph, {});
  return { canonical, graph, parts: partition(graph), steps };
}

const planOf = ({ graph, parts, canonical }: Job, model: DeviceModel, budget?: number): DevicePlan =>
  planPartition(graph, parts, canonical.sources, model, { budget });

async function resultsOf(native: typeof Native, { canonical }: Job, plan: DevicePlan): Promise<string[]> {
  const inputs = plan.inputs.map((at) => {
    const { source } = canonical.sources[at]!;
    if (source.type !== 'host') throw new Error(`a source of type ${source.type}`);
    return source.data;
  });
  return bytesOf(native, cpuProgram(plan), inputs, numbersFor(canonical));
}

describe('budgets', () => {
  for (const [name, model, poison] of [
    ['on the CPU', CPU_MODEL, '0'],
    ['with windows of inputs and results', DEVICE_MODEL, '1'],
  ] as const) {
    it(`do not change bits, ${name}`, async () => {
      const native = await nativeWith({ WEFT_POISON: poison, WEFT_THREADS: '2' });
      let swept = 0;
      for (let seed = 0; seed < 40; seed++) {
        const job = jobOf(seed);
        const whole = planOf(job, model);
        const expected = await resultsOf(native, job, whole);
        for (const share of [0.5, 0.2, 0.08]) {
          let plan: DevicePlan;
          try {
            plan = planOf(job, model, Math.floor(whole.peakBytes * share));
          } catch (error) {
            if (error instanceof MemoryError) continue;
            throw error;
          }
          if (plan.steps.every(({ kind }) => kind !== 'sweep')) continue;
          swept++;
          const message = `seed ${seed}, ${share}: ${job.steps.join(', ')}`;
          const results = await resultsOf(native, job, plan);
          expect(
            results.map((bytes, k) => bytes === expected[k]),
            message,
          ).toEqual(expected.map(() => true));
        }
      }
      expect(swept).toBeGreaterThan(10);
    }, 300_000);
  }
});
