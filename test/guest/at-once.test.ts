/**
 * Many computes of one thread under way at once: of one program and of many, on several devices, of functions
 * made by `compile`.
 */
import { describe, expect, it } from 'vitest';
import { compile, compute, type Lazy, lazy } from '../../src/index.js';
import { backends } from '../support/backends.js';

const MANY = 100;
const devices = backends().filter((name) => name === 'cpu' || name.startsWith('cuda'));
/** A hundred numbers, by which results tell which compute they are of. */
const each = <T>(make: (k: number) => T): T[] => Array.from({ length: MANY }, (_, k) => make(k));
const filled = (value: number, count = 300): Lazy => lazy(new Float32Array(count).fill(value));

describe.each(devices)('a hundred computes at once on %s', (device) => {
  it('of one program are each of its own input', async () => {
    const sums = await Promise.all(each((k) => filled(k).mul(2).sum().compute({ device })));
    expect(sums.map((sum) => sum.item())).toEqual(each((k) => 600 * k));
  });

  it('of one graph are the same', async () => {
    const x = filled(3).square().add(1);
    const results = await Promise.all(each(() => x.compute({ device })));
    expect(new Set(results.map((result) => result.at(299)))).toEqual(new Set([10]));
  });

  it('of one function are each of its own arguments', async () => {
    const f = compile((x: Lazy, y: Lazy) => ({ sum: x.add(y).sum(), map: x.mul(y) }), { device });
    for (let round = 0; round < 3; round++) {
      const results = await Promise.all(
        each((k) => f(new Float32Array(64).fill(k), new Float32Array(64).fill(2))),
      );
      expect(results.map(({ sum }) => sum.item())).toEqual(each((k) => 64 * (k + 2)));
      expect(results.map(({ map }) => map.at(63))).toEqual(each((k) => 2 * k));
    }
  });

  it('of several sizes, in tiles and whole, with results that stay, are right', async () => {
    const jobs = each(async (k) => {
      const x = filled(1, 64 * 1200).reshape([-1, 64]);
      const centered = x.mul(k).sub(x.mean(0));
      if (k % 3 === 0) return (await centered.max().compute({ device, memory: 120_000 })).item();
      if (k % 3 === 1) return (await compute([centered.min(), x.sum()], { device }))[0].item();
      using kept = await centered.persist({ device });
      return (await kept.slice(7).max().compute()).item();
    });
    expect(await Promise.all(jobs)).toEqual(each((k) => k - 1));
  });

  it('go on where some of them are aborted and some fail', async () => {
    const jobs = each(async (k) => {
      const abort = new AbortController();
      const data = new Float32Array(20_000).fill(k);
      const x = lazy(data);
      if (k % 10 === 9) structuredClone(data, { transfer: [data.buffer] }); // gone
      const job = x.max().compute({ device, signal: abort.signal });
      if (k % 5 === 3) abort.abort(new Error('enough'));
      return job.then(
        (result) => result.item(),
        (error: unknown) => (error instanceof Error ? error.message : error),
      );
    });
    const outcomes = await Promise.all(jobs);
    each((k) => {
      const wanted = k % 10 === 9 ? /detached/ : k % 5 === 3 ? /^enough$/ : new RegExp(`^${k}$`);
      expect(String(outcomes[k])).toMatch(wanted);
    });
  });
});

const hasGpu = devices.includes('cuda');
const why = hasGpu
  ? ''
  : ' (skipped: no GPU here; the projects `sim` and `sim-placed` run it on the simulated one)';

describe(`computes at once on the CPU and a GPU${why}`, () => {
  it.skipIf(!hasGpu)('are each on their own device', async () => {
    const sums = await Promise.all(
      each((k) =>
        filled(k)
          .add(1)
          .sum()
          .compute({ device: k % 2 === 0 ? 'cpu' : 'cuda' }),
      ),
    );
    expect(sums.map((sum) => sum.item())).toEqual(each((k) => 300 * (k + 1)));
  });
});
