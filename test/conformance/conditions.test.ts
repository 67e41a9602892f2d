/**
 * Loops with a condition again and again, on arrays of any size and wherever memory is: always exactly so
 * many steps.
 */
import { describe, expect, it } from 'vitest';
import { compile, type Lazy, lazy, where, whileLoop } from '../../src/index.js';
import { backends } from '../support/backends.js';

const devices = backends().filter((device) => device !== 'reference' && device !== 'interpreted');

/** Numbers below `n` that are the same in every run. */
function randomly(seed: number): (n: number) => number {
  let state = seed;
  return (n) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
  };
}

function collatzSteps(start: bigint): number {
  let steps = 0;
  for (let x = start; x !== 1n; steps++) x = x % 2n === 0n ? x / 2n : 3n * x + 1n;
  return steps;
}

describe.each(devices)('loops with a condition on %s', (device) => {
  it('count to limits, with other memory each time', async () => {
    const below = randomly(17);
    const count = compile(
      (x: Lazy, limit: Lazy) =>
        whileLoop(
          ([y]) => y.max().less(limit),
          ([y, n]) => [y.add(1), n.add(2)],
          [x, lazy(0)],
        ),
      { device },
    );
    const held: Lazy[] = [];
    for (let k = 0; k < 60; k++) {
      const [size, limit] = [1 + below(3000), below(k % 4 === 0 ? 600 : 20)];
      const [y, twice] = await count(new Int32Array(size), lazy(limit));
      expect(y.data).toEqual(new Int32Array(size).fill(limit));
      expect(twice.item()).toBe(2 * limit);
      held.push(await lazy(new Float32Array(1 + below(20_000))).persist({ device }));
      if (held.length > 12) held.splice(below(held.length), 1)[0]!.dispose();
    }
    for (const each of held) each.dispose();
  });

  it('follow numbers to 1', async () => {
    const below = randomly(5);
    const follow = compile(
      (start: Lazy) =>
        whileLoop(
          ([x]) => x.notEqual(1),
          ([x, n]) => [where(x.remainder(2).equal(0), x.floorDivide(2), x.mul(3).add(1)), n.add(1)],
          [start, lazy(0n)],
        )[1]!,
      { device },
    );
    for (let k = 0; k < 60; k++) {
      const start = BigInt(1 + below(100_000));
      expect(Number((await follow(lazy(start))).item())).toBe(collatzSteps(start));
    }
  });
});
