/** Loops on the CPU that never compute or never dispose: a hundred thousand rounds in bounded memory. */
import { describe, expect, it } from 'vitest';
import { collectGarbage, memory } from '../src/exec/native/native.js';
import { type Lazy, lazy } from '../src/index.js';

const device = 'cpu';
const MiB = 2 ** 20;

const used = (): number => memory().find((each) => each.device === device)?.inUse ?? 0;

/** Bytes of JavaScript's heap that are in use. */
async function heap(): Promise<number> {
  await collectGarbage();
  return process.memoryUsage().heapUsed;
}

describe('a loop of a hundred thousand rounds', () => {
  it('that never computes takes no more memory as it goes on', async () => {
    const x = lazy(new Float32Array(1024).fill(1));
    let acc: Lazy = lazy(new Float32Array(1024));
    const before = used();
    const sizes: number[] = [];
    for (let k = 1; k <= 100_000; k++) {
      acc = acc.add(x);
      if (k % 20_000 === 0) sizes.push(await heap());
    }
    // A node takes about a kilobyte: 60,000 more of them would be 50 MiB.
    expect((sizes.at(-1)! - sizes[1]!) / MiB).toBeLessThan(25);
    expect(used()).toBe(before); // nothing ran
    const sum = await acc.compute({ device });
    expect([sum.at(0), sum.at(1023)]).toEqual([100_000, 100_000]);
    expect(used() - before).toBeLessThan(MiB);
  });

  it('that computes and never disposes takes no more memory as it goes on', async () => {
    const x = lazy(new Float32Array(1024).fill(1));
    let last: Lazy = x;
    let most = 0;
    let middle = 0;
    for (let k = 1; k <= 100_000; k++) {
      last = await last.add(x).persist({ device });
      if (k % 100 === 0) most = Math.max(most, used());
      if (k === 30_000) middle = process.memoryUsage.rss();
    }
    // Of 400 MiB in all.
    expect(most / MiB).toBeLessThan(120);
    expect((process.memoryUsage.rss() - middle) / MiB).toBeLessThan(150);
    expect((await last.compute()).at(7)).toBe(100_001);
    last.dispose();
  });
}, 240_000);
