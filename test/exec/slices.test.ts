/** Planning in slices: the same plan as at once, and turns of the event loop in between. */
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { lazy } from '../../src/api/creation.js';
import type { Lazy } from '../../src/api/lazy.js';
import { placeholder } from '../../src/api/placeholder.js';
import type { Work, Works } from '../../src/codegen/cuts/work.js';
import { inTurns } from '../../src/exec/native/turns.js';
import { planPartition, planPartitionInSlices } from '../../src/exec/plan/plan-graph.js';
import { printDevicePlan } from '../../src/exec/plan/print-plan.js';
import { SharedWork } from '../../src/exec/run/shared-work.js';
import { CPU_MODEL } from '../../src/exec/targets/cpu.js';
import { CPU, gpuOf } from '../../src/exec/targets/device.js';
import { targetOf } from '../../src/exec/targets/table.js';
import type { WorksOf } from '../../src/exec/tiles/sweep-cuts.js';
import type { Kernel } from '../../src/fusion/kernel/kernel.js';
import { partition, partitionInSlices } from '../../src/fusion/partition/partition.js';
import { canonicalize } from '../../src/fusion/passes/canonicalize.js';
import { passesInSlices, runPasses } from '../../src/fusion/passes/pipeline.js';
import { MemoryError } from '../../src/host/errors.js';
import { completed, type Slices } from '../../src/host/slices.js';

/** Footprints of ranges of units that are worked out between two pauses: each takes 5 to 50 µs. */
const MOST_FOOTPRINTS = 100;

/** Elementwise work, products and reductions of both axes: some twenty nodes for each layer. */
function layers(count: number): Lazy {
  let x = lazy(new Float32Array(4096).fill(0.5), { shape: [64, 64] });
  for (let k = 0; k < count; k++) {
    x = x.matmul(x.T).mul(1 / (k + 65));
    x = x
      .sub(x.max(1, { keepdims: true }))
      .exp()
      .div(x.std(0, { keepdims: true }).add(1));
  }
  return x;
}

describe('slices', () => {
  it('give the plan that all at once gives', () => {
    const { graph, sources } = canonicalize([layers(20).expr]);
    const printed = (passed: typeof graph, parts: ReturnType<typeof partition>): string =>
      printDevicePlan(planPartition(passed, parts, sources, CPU_MODEL));
    const whole = runPasses(graph);
    let pauses = 0;
    const counted = function* <T>(work: Slices<T>): Slices<T> {
      for (;;) {
        const step = work.next();
        if (step.done === true) return step.value;
        pauses++;
        yield;
      }
    };
    const cut = completed(counted(passesInSlices(graph)));
    const parts = completed(counted(partitionInSlices(cut)));
    expect(printed(cut, parts)).toBe(printed(whole, partition(whole)));
    // A pause after some tens of nodes: each takes 10 to 40 µs.
    expect(pauses).toBeGreaterThan(graph.nodes.length / 16);
  });

  it('let the event loop turn, and hand on results and errors', async () => {
    let turns = 0;
    let isDone = false;
    const counting = (async () => {
      for (; !isDone; turns++) await setImmediate();
    })();
    const work = function* (fails: boolean): Slices<number> {
      for (let k = 0; k < 20; k++) {
        for (const end = performance.now() + 1; performance.now() < end; );
        yield;
      }
      if (fails) throw new RangeError('no');
      return 7;
    };
    expect(await inTurns(work(false))).toBe(7);
    await expect(inTurns(work(true))).rejects.toThrow('no');
    isDone = true;
    await counting;
    expect(turns).toBeGreaterThan(10);
  });

  it('of a graph let it turn while other graphs are planned, of which each gives its result', async () => {
    let turns = 0;
    let isDone = false;
    const counting = (async () => {
      for (; !isDone; turns++) await setImmediate();
    })();
    const sums = [30, 31, 30].map((count) => layers(count).mean().compute({ device: 'cpu' }));
    const small = lazy([1, 2, 3]).add(1).compute({ device: 'cpu' });
    expect((await small).at(2)).toBe(4);
    const [a, b, c] = (await Promise.all(sums)).map((sum) => sum.item());
    isDone = true;
    await counting;
    expect(turns).toBeGreaterThan(3);
    expect(c).toBe(a);
    expect(Number.isFinite(b as number)).toBe(true);
  });

  it('of a refused graph pause for each budget that is tried, and end when the compute is aborted', async () => {
    const job = layers(10).sort(0).mean();
    const { graph, sources } = canonicalize([job.expr]);
    const passed = runPasses(graph);
    let pauses = 0;
    const plan = (budget: number): void => {
      pauses = 0;
      const work = planPartitionInSlices(passed, partition(passed), sources, CPU_MODEL, { budget });
      while (work.next().done !== true) pauses++;
    };
    plan(Number.POSITIVE_INFINITY);
    const ofOne = pauses;
    expect(() => plan(1024)).toThrow(MemoryError);
    expect(pauses).toBeGreaterThan(ofOne + 10);
    const refused = (signal: AbortSignal): Promise<unknown> =>
      job.compute({ device: 'cpu', memory: 1024, signal });
    const abort = new AbortController();
    const aborted = refused(abort.signal);
    await setImmediate();
    abort.abort(new Error('enough'));
    await expect(aborted).rejects.toThrow('enough');
  });

  it('of jobs at tight budgets ask for few footprints each, and of a panel of a product', () => {
    let asked = 0;
    const counted = (work: Work): Work => ({
      ...work,
      regions: (...range) => {
        asked++;
        return work.regions(...range);
      },
    });
    const known = new Map<Kernel, Works>();
    const countedWorks = (worksOf: WorksOf, kernel: Kernel): Works => {
      const { rows, phases, ...works } = worksOf(kernel);
      const made = known.get(kernel) ?? {
        ...works,
        rows: rows && counted(rows),
        phases: phases.map((phase) => ({ ...phase, work: counted(phase.work) })),
      };
      known.set(kernel, made);
      return made;
    };
    const x = placeholder([2 ** 18, 4], 'float32');
    const k = placeholder([2 ** 17], 'int32');
    const taken = x.sub(x.mean(0)).cumulativeSum(0).take(k, 0).take(k, 0);
    const product = placeholder([2 ** 13, 64], 'float32').matmul(placeholder([64, 2 ** 13], 'float32'));
    const jobs: [Lazy, parts: readonly number[]][] = [
      [taken.exp().sum(1), [4, 16]],
      [product.max(1), [1, 16]],
    ];
    for (const device of [CPU, gpuOf('sm_90')])
      for (const [job, fractions] of jobs) {
        const { passes, modelOf } = targetOf(device);
        const { graph, sources } = canonicalize([job.expr]);
        const passed = runPasses(graph, { passes });
        const model = modelOf(device, 'host');
        const sweeps = { ...model.sweeps!, worksOf: (of: Kernel) => countedWorks(model.sweeps!.worksOf, of) };
        const own = { ...model, sweeps };
        // Refusals, which name a budget that is enough, are counted as well.
        const plan = (budget?: number): number => {
          const work = planPartitionInSlices(passed, partition(passed), sources, own, { budget });
          let [most, pauses] = [0, 0];
          try {
            for (let before = asked; ; before = asked) {
              const step = work.next();
              most = Math.max(most, asked - before);
              pauses++;
              if (step.done === true) return step.value.peakBytes;
            }
          } catch (error) {
            if (!(error instanceof MemoryError)) throw error;
            return error.needed.memory!;
          } finally {
            expect(most).toBeLessThanOrEqual(MOST_FOOTPRINTS);
            if (budget !== undefined) expect(pauses).toBeGreaterThan(20);
          }
        };
        const whole = plan();
        for (const part of fractions)
          expect(plan(whole / part)).toBeLessThanOrEqual(whole / Math.min(part, 2));
      }
    expect(asked).toBeGreaterThan(1000);
  });

  it('of a graph end where all who wait for it are aborted, and go on for one who is not', async () => {
    const aborts = [new AbortController(), new AbortController()];
    const result = layers(41).mean();
    const asked = aborts.map(({ signal }) => result.compute({ device: 'cpu', signal }));
    const told = asked.map((each) => each.then(Boolean, (reason: Error) => reason.message));
    await setImmediate();
    aborts[0]!.abort(new Error('the first gave up'));
    expect(await Promise.race(told)).toBe('the first gave up');
    expect(await told[1]).toBe(true);
  });
});

describe('shared work', () => {
  /** Counts to a number of turns, and the turns that it took. */
  function counting(most: number): { readonly shared: SharedWork<number>; readonly done: () => number } {
    let done = 0;
    const shared = new SharedWork(async (check) => {
      for (; done < most; done++) {
        await setImmediate();
        check();
      }
      return done;
    });
    return { shared, done: () => done };
  }

  it('rejects with the reason of one who gives up at once, and stops with the last', async () => {
    const aborts = [new AbortController(), new AbortController()];
    const { shared, done } = counting(1000);
    const told = aborts.map(({ signal }) => shared.wait(signal).catch((reason: Error) => reason.message));
    aborts[0]!.abort(new Error('first'));
    expect(await told[0]).toBe('first');
    expect(shared.isStopped).toBe(false);
    await setImmediate();
    const before = done();
    await setImmediate();
    expect(done()).toBeGreaterThan(before);
    aborts[1]!.abort(new Error('second'));
    expect(await told[1]).toBe('second');
    expect(shared.isStopped).toBe(true);
    await expect(shared.result).rejects.toThrow('nobody waits');
    expect(done()).toBeLessThan(1000);
  });

  it('goes on for one without a signal, and gives later ones its result', async () => {
    const abort = new AbortController();
    const { shared } = counting(20);
    const [given, whole] = [shared.wait(abort.signal), shared.wait(undefined)];
    abort.abort(new Error('enough'));
    await expect(given).rejects.toThrow('enough');
    expect(await whole).toBe(20);
    expect(shared.isStopped).toBe(false);
    expect(await shared.wait(new AbortController().signal)).toBe(20);
  });
});
