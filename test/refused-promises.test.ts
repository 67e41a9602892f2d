/** Promises that are refused where arrays are wanted do not end the process when they reject. */
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { batch, compile, compute, fromReader, iterate, type Lazy, lazy, whileLoop } from '../src/index.js';

const fail = async (): Promise<never> => {
  throw new Error('nobody awaits this');
};
const unhandled: unknown[] = [];
const note = (reason: unknown): void => {
  unhandled.push(reason);
};
beforeAll(async () => {
  process.on('unhandledRejection', note);
  await compute([1], { device: 'cpu' }); // devices are looked for once; later computes reject sooner
});
beforeEach(() => {
  unhandled.length = 0;
});
afterAll(() => {
  process.off('unhandledRejection', note);
});

const x = lazy([1, 2]);
const device = 'cpu';
const compiled = (fn: (a: Lazy) => unknown) => compile(fn as (a: Lazy) => Lazy, { device })([1, 2]);
const inBatch = async (job: unknown): Promise<never> => {
  const [result] = await batch([job as Lazy], { devices: ['cpu'] }).all();
  throw result?.ok === false ? result.error : new Error('the job was done');
};

describe('a promise that is refused does not reject alone', () => {
  it.each<[string, () => unknown]>([
    ['a compiled function that computes', () => compiled((a) => a.compute())],
    ['a compiled function that computes several', () => compiled((a) => [a, a.compute(), a.sum().compute()])],
    ['a compiled function that computes by name', () => compiled((a) => ({ wrong: 1, a: a.compute() }))],
    ['an async compiled function', () => compiled(fail)],
    ['a compiled function in which lists are computed', () => compiled((a) => [1, [a.compute()]])],
    ['a loop whose step computes', () => iterate(3, x, ((a: Lazy) => a.compute()) as never)],
    [
      'a loop with several states',
      () => iterate(3, [x, x], ((s: Lazy[]) => s.map((a) => a.compute())) as never),
    ],
    [
      'a loop with named states',
      () => iterate(3, { x }, ((s: { x: Lazy }) => ({ x: s.x.compute() })) as never),
    ],
    ['an async step', () => iterate(3, x, fail as never)],
    ['an async condition', () => whileLoop(fail as never, (a) => a.add(1), x)],
    ['an operand in a step', () => iterate(3, x, (a) => a.add(a.compute() as never))],
    ['a job that fails to be an array', () => inBatch(() => [fail(), fail()])],
    ['a job of an object', () => inBatch({ compute: [x, fail()] })],
    [
      'a reader that gives promises',
      () => {
        const read = () => [fail(), fail()] as never;
        return fromReader(read, { dtype: 'float32', shape: 2 }).compute({ device });
      },
    ],
    ['an operand', () => x.add(fail() as never)],
    ['an argument too many of an op', () => (x.add as (...args: unknown[]) => Lazy)(1, fail())],
    ['an argument too many of a reduction', () => (x.sum as (...args: unknown[]) => Lazy)(0, {}, fail())],
    [
      'an argument too many of a compute',
      () => (compute as (...args: unknown[]) => unknown)([x], {}, fail()),
    ],
    ['an argument', () => compute([x, fail() as never], { device })],
    ['a list', () => lazy([1, fail()] as never)],
  ])('%s', async (_, act) => {
    const error: unknown = await (async () => act())().catch((caught: unknown) => caught);
    expect(String(error)).toMatch(/^ArgumentError: /);
    await setTimeout(25); // a refused compute first looks for devices
    expect(unhandled).toEqual([]);
  });
});
