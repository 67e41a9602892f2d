/**
 * Launches whose blocks may begin while the launch before them ends, from compute capability 9.0 on, one by one and in graphs;
 * elsewhere they are as others, with the same results.
 */
import { afterEach, describe, expect, it } from 'vitest';
import { compile, type Lazy, lazy, topK } from '../../src/index.js';
import { describeSimulator, setDevices, setFaults } from './simulator.js';

setDevices([{}, { capability: 80 }]);

/** Runs of a program before it is repeated as graphs. */
const PLAIN_RUNS = 3;
const N = 2 ** 16 + 5;
const x = Float32Array.from({ length: N }, (_, i) => Math.sin(i));

/** How launches were queued, and edges of graphs made. */
function counts(): Readonly<Record<'plain' | 'early' | 'edges' | 'graphs', number>> {
  const seen = describeSimulator().counts;
  const of = (name: string): number => seen[name] ?? 0;
  return {
    plain: of('cuLaunchKernel'),
    early: of('cuLaunchKernelEx'),
    edges: of('cuGraphAddDependencies_v2'),
    graphs: of('cuGraphLaunch'),
  };
}

/** What each of some runs queued, and gave. */
async function seen(job: (a: Lazy) => Lazy, device: string, runs: number) {
  const compiled = compile(job, { device });
  const all: { readonly counts: ReturnType<typeof counts>; readonly data: readonly number[] }[] = [];
  for (let run = 0; run < runs; run++) {
    setFaults([]);
    const { data } = await compiled(lazy(x));
    all.push({ counts: counts(), data: Array.from(data as Float32Array) });
  }
  return all;
}

afterEach(() => setFaults([]));

describe('a call of several launches', () => {
  const first = [...x].sort((a, b) => b - a).slice(0, 20);

  it('has early ones, in a stream and as edges of its graph', async () => {
    const runs = await seen((a) => topK(a, 20).values, 'cuda:0', PLAIN_RUNS + 2);
    for (const { data } of runs) expect(data).toEqual(first);
    for (const { counts: own } of runs.slice(0, PLAIN_RUNS)) {
      expect(own.early).toBeGreaterThan(0);
      expect([own.edges, own.graphs]).toEqual([0, 0]);
    }
    const [made, again] = runs.slice(PLAIN_RUNS).map(({ counts: own }) => own);
    expect(made).toEqual({ plain: 0, early: 0, edges: runs[0]!.counts.early, graphs: 1 });
    expect(again).toEqual({ plain: 0, early: 0, edges: 0, graphs: 1 });
  });

  it('has none on an older device, and the same results', async () => {
    const runs = await seen((a) => topK(a, 20).values, 'cuda:1', PLAIN_RUNS + 2);
    for (const { data } of runs) expect(data).toEqual(first);
    for (const { counts: own } of runs) expect([own.early, own.edges]).toEqual([0, 0]);
    expect(runs.at(-1)!.counts.graphs).toBe(1);
  });

  it('gives what looks back the words that were cleared before it', async () => {
    const own = await seen((a) => a.cumulativeSum(), 'cuda:0', PLAIN_RUNS + 2);
    const older = await seen((a) => a.cumulativeSum(), 'cuda:1', PLAIN_RUNS + 2);
    let sum = 0;
    const sums = x.map((value) => {
      sum += value;
      return sum;
    });
    for (const [k, { data }] of own.entries()) {
      expect(data).toEqual(older[k]!.data);
      expect(Math.max(...data.map((value, i) => Math.abs(value - sums[i]!)))).toBeLessThan(1e-4);
    }
    expect(own[0]!.counts.early).toBe(1);
  });
});
