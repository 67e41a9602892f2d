/** Short runs and the event loop: results that are there at once do not keep it from turning; ends are looked for for a moment. */
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { handedOver, Lookout } from '../../src/exec/turns.js';
import { compile, type Lazy } from '../../src/index.js';

describe('results that are there at once', () => {
  it('let the event loop turn', async () => {
    const f = compile((x: Lazy) => x.add(1), { device: 'cpu' });
    await f(new Float32Array(4));
    let turns = 0;
    const count = (): void => {
      turns++;
      if (turns < 1000) timer = setTimeout(count, 0);
    };
    let timer = setTimeout(count, 0);
    const start = performance.now();
    // Timers are due once a millisecond.
    for (let calls = 0; calls < 2000 || performance.now() < start + 20; calls++) await f(new Float32Array(4));
    clearTimeout(timer);
    expect(turns).toBeGreaterThan(2);
  });

  it('come in order', async () => {
    const order: number[] = [];
    await Promise.all(
      Array.from({ length: 200 }, (_, k) => handedOver(k).then((value) => order.push(value))),
    );
    expect(new Set(order).size).toBe(200);
    expect(order.slice(0, 50)).toEqual(order.slice(0, 50).toSorted((a, b) => a - b));
  });
});

describe('a lookout', () => {
  it('looks while something is under way, and says when it stops', async () => {
    const calls: boolean[] = [];
    let pending = 2;
    const lookout = new Lookout((looksAgain) => {
      calls.push(looksAgain);
      return looksAgain ? --pending : pending;
    });
    for (let i = 0; i < 1000 && pending > 0; i++) {
      lookout.watch();
      await setImmediate();
      await setImmediate();
    }
    expect(pending).toBe(0);
    expect(calls.at(-1)).toBe(false);
    const count = calls.length;
    await setImmediate();
    expect(calls).toHaveLength(count);
  });

  it('gives up after a while, and begins again', async () => {
    const calls: boolean[] = [];
    const lookout = new Lookout((looksAgain) => calls.push(looksAgain));
    lookout.watch();
    const end = performance.now() + 20;
    while (performance.now() < end) await setImmediate();
    const count = calls.length;
    expect(calls.at(-1)).toBe(false);
    await setImmediate();
    expect(calls).toHaveLength(count);
    lookout.watch();
    await setImmediate();
    await setImmediate();
    expect(calls.length).toBeGreaterThan(count);
  });
});
