/**
 * Loops that look at the indices that their steps change: decided on the device, within budgets, on several simulated
 * devices and as graphs that are launched again, they have the same bits, or the same error.
 */
import { describe, expect, it } from 'vitest';
import { type ComputeOptions, compile, iterate, type Lazy, lazy, whileLoop, zeros } from '../../src/index.js';
import { describeSimulator, setDevices, setFaults, show, takeProblems } from './simulator.js';

setDevices([{}, {}]);

const COUNT = 70_000;
const links = Int32Array.from({ length: COUNT }, (_, k) => (k * 7919 + 5) % COUNT);
const wrong = links.with(1234, COUNT + 7);
const table = lazy(Float32Array.from({ length: COUNT }, (_, k) => k % 13));

const JOBS: Readonly<Record<string, (links: Lazy) => Lazy>> = {
  'of one read': (next) => iterate(5, next, (p) => next.take(p)),
  'of a sum that is carried': (next) =>
    iterate(4, [next, zeros([COUNT], 'float32')], ([p, sum]) => [
      next.take(p),
      sum.mul(0.5).add(table.take(p)),
    ])[1],
  'of updates': (next) => iterate(3, next, (p) => next.at(p).max(p.flip(0))),
  'with kept steps': (next) => iterate(5, next, (p) => next.take(p), { every: 2 }).sum(0),
  'with a condition': (next) =>
    whileLoop(
      ([, n]) => n.less(6),
      ([p, n]) => [next.take(p), n.add(1)],
      [next, lazy(0)],
    )[0],
};

const outcomeOf = async (x: Lazy, options: ComputeOptions): Promise<unknown> =>
  x.compute(options).then(
    ({ data }) => Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64'),
    (error: Error) => `${error.name} ${error.message.split('\n')[0]}`,
  );

describe('indices that steps change', () => {
  it.each(Object.entries(JOBS))(
    'in a loop %s are looked at within budgets and on two devices',
    async (name, job) => {
      const whole = await outcomeOf(job(lazy(links)), { device: 'cuda:0' });
      const error = await outcomeOf(job(lazy(wrong)), { device: 'cuda:0' });
      expect(error).toMatch(
        /^RangeArgumentError \[(take|at\.max)\] expected indices from -70000 to 69999 .*: 70007$/,
      );
      const budgets = name === 'of updates' ? ['6MiB'] : ['1MiB', '300KiB'];
      const all = [{ devices: 2 }, ...budgets.map((memory) => ({ device: 'cuda:0', memory }))];
      for (const options of all) {
        expect(await outcomeOf(job(lazy(links)), options)).toBe(whole);
        expect(await outcomeOf(job(lazy(wrong)), options)).toBe(error);
      }
      expect(takeProblems().map(show)).toEqual([]);
    },
  );

  it('end a loop that the device decides on, in a few launches', async () => {
    const chain = (length: number): Lazy => lazy(Int32Array.from({ length }, (_, k) => k + 1));
    const walk = (length: number): Lazy =>
      whileLoop(
        (p) => p.notEqual(500).any(),
        (p) => chain(length).take(p),
        lazy(Int32Array.of(0, 0)),
      );
    expect(`${walk(500).explain({ device: 'cuda' })}`).toContain('decided on the device');
    expect((await walk(500).compute({ device: 'cuda' })).toArray()).toEqual([500, 500]);
    setFaults([]);
    await expect(walk(400).compute({ device: 'cuda' })).rejects.toThrow(
      /\[take\] expected indices from -400 to 399 for axis 0 of 400 elements: 400\n +made at .*loop-indices/,
    );
    const { cuGraphLaunch, cuLaunchKernel } = describeSimulator().counts;
    expect(cuGraphLaunch).toBeGreaterThan(0);
    expect(cuGraphLaunch! + cuLaunchKernel!).toBeLessThan(100);
  });

  it('are looked at by graphs that are launched again', async () => {
    const walk = compile((start: Lazy, next: Lazy) => iterate(9, start, (p) => next.take(p).sort()), {
      device: 'cuda',
    });
    const start = Int32Array.from({ length: 50 }, (_, k) => k);
    const next = start.map((k) => (k * 7 + 3) % 50);
    const [first] = [await walk(start, next)];
    for (let round = 0; round < 8; round++) {
      expect((await walk(start, next)).data).toEqual(first.data);
      await expect(walk(start, next.with(round, -51))).rejects.toThrow('axis 0 of 50 elements: -51');
    }
  });
});
