/**
 * compile() on the simulated CUDA: results, loops that stay on the device, many calls under way, arrays that
 * are gone.
 */
import { describe, expect, it } from 'vitest';
import { compile, type Lazy, lazy, persist } from '../../src/index.js';

const device = 'cuda';
const ramp = (n: number, scale = 1): Float32Array => Float32Array.from({ length: n }, (_, i) => i * scale);

describe('a compiled function on a GPU', () => {
  it('computes with arrays of the host and of the device', async () => {
    const dot = compile((x: Lazy, y: Lazy) => x.mul(y).sum(), { device });
    using stored = await lazy(ramp(5)).persist({ device });
    for (const scale of [1, 2]) {
      expect((await dot(ramp(5), ramp(5, scale))).item()).toBe(30 * scale);
      expect((await dot(stored, ramp(5, scale))).item()).toBe(30 * scale);
      using out = await dot.persist(stored, stored);
      expect((await out.compute()).item()).toBe(30);
    }
  });

  it('keeps a state on the device, step after step', async () => {
    const step = compile((x: Lazy, v: Lazy) => [x.add(v), v.mul(0.5)] as const, { device });
    let [x, v]: [Lazy, Lazy] = await persist([lazy(ramp(300)), lazy(new Float32Array(300).fill(64))], {
      device,
    });
    for (let i = 0; i < 6; i++) {
      const [nextX, nextV] = await step.persist(x, v);
      x.dispose();
      v.dispose();
      [x, v] = [nextX, nextV];
    }
    expect([...(await x.compute()).data]).toEqual([...ramp(300)].map((value) => value + 126));
    expect([...(await v.compute()).data]).toEqual(new Array(300).fill(1));
    x.dispose();
    v.dispose();
  });

  it('has many calls under way, over arrays that are let go meanwhile', async () => {
    const f = compile((x: Lazy, y: Lazy) => x.sub(y).abs().sum(0), { device });
    const [a, b] = await persist([lazy(ramp(64), { shape: [8, 8] }), lazy(ramp(8))], { device });
    (await f.persist(a, b)).dispose();
    const calls = Array.from({ length: 40 }, () => f.persist(a, b));
    a.dispose();
    b.dispose();
    const expected = new Float32Array(8).fill(8 * 28); // Σ 8 row
    for (const out of await Promise.all(calls)) {
      expect((await out.compute()).data).toEqual(expected);
      out.dispose();
    }
    await expect(f(a, b)).rejects.toThrow(/disposed/);
  });
});
