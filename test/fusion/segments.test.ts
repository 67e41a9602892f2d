/**
 * Deep graphs: what is put aside, that its values are the same, and that loops without a compute stay small.
 */
import { describe, expect, it } from 'vitest';
import { canonicalize } from '../../src/fusion/passes/canonicalize.js';
import { canonicalOfSegment, segmentsBelow } from '../../src/fusion/passes/segment.js';
import { withLevels } from '../../src/graph/depth.js';
import type { Expr } from '../../src/graph/expr.js';
import { compile, compute, type Lazy, lazy, type NDArray } from '../../src/index.js';

const device = 'cpu';
const WHOLE = Number.POSITIVE_INFINITY;
const wave = (n: number, phase = 0): Lazy =>
  lazy(Float32Array.from({ length: n }, (_, i) => Math.sin(i + phase)));

const partsOf = (results: readonly Lazy[]): number =>
  segmentsBelow(canonicalize(results.map((x) => x.expr))).length;
const bitsOf = ({ data }: NDArray): Uint8Array =>
  new Uint8Array(data.buffer, data.byteOffset, data.byteLength);

/** The nodes that a graph holds, those of its parts included: each distinct table of a part counts once. */
function nodesHeld(roots: readonly Lazy[]): number {
  const seen = new Set<Expr>(roots.map((root) => root.expr));
  for (const node of seen) for (const input of node.inputs) seen.add(input);
  const graphs = new Set(
    segmentsBelow(canonicalize(roots.map((root) => root.expr))).map((p) => canonicalOfSegment(p).graph),
  );
  return seen.size + [...graphs].reduce((sum, graph) => sum + graph.nodes.length, 0);
}

/** Loops over elementwise work, whose values no rewrite and no order of sums can change. */
const LOOPS: Readonly<Record<string, (steps: number) => Lazy[]>> = {
  'a sum': (steps) => {
    let acc = wave(100);
    for (let k = 0; k < steps; k++) acc = acc.add(wave(100, 0.5));
    return [acc];
  },
  'another array and number in every step': (steps) => {
    let acc = wave(50);
    for (let k = 0; k < steps; k++) acc = acc.mul(0.9 + k / 1000).add(wave(50, k));
    return [acc];
  },
  'two arrays that need each other': (steps) => {
    let [x, v] = [wave(64), wave(64, 1)];
    for (let k = 0; k < steps; k++) [x, v] = [x.add(v.mul(0.01)), v.sub(x.sin().mul(0.01))];
    return [x, v];
  },
  'a stencil': (steps) => {
    let x = wave(200);
    for (let k = 0; k < steps; k++) x = x.roll(1).add(x.roll(-1)).mul(0.25).add(x.mul(0.5));
    return [x];
  },
  'casts and matrices': (steps) => {
    let x = wave(60).reshape([6, 10]);
    for (let k = 0; k < steps; k++)
      x = x.T.add(wave(6).reshape([1, 6]))
        .astype('float64')
        .sin()
        .astype('float32').T;
    return [x, x.T];
  },
};

describe('a deep graph', () => {
  for (const [name, loop] of Object.entries(LOOPS)) {
    it(`has the same bits in parts: ${name}`, async () => {
      const whole = withLevels(WHOLE, () => loop(40));
      expect(partsOf(whole)).toBe(0);
      const expected = await compute(whole, { device });
      for (const levels of [3, 10, 19]) {
        const segmented = withLevels(levels, () => loop(40));
        expect(partsOf(segmented)).toBeGreaterThan(0);
        const found = await compute(segmented, { device });
        expect(found.map(bitsOf)).toEqual(expected.map(bitsOf));
      }
    });
  }

  it('is what persisting gives where sums are in the loop', async () => {
    const step = (x: Lazy): Lazy =>
      x
        .sub(x.mean(0))
        .div(x.std(0).add(1))
        .add(wave(4000).reshape([1000, 4]));
    const many = (x: Lazy, count: number): Lazy => (count === 0 ? x : many(step(x), count - 1));
    const start = wave(4000, 2).reshape([1000, 4]);
    const whole = await withLevels(WHOLE, () => many(start, 12)).compute({ device });
    const segmented = withLevels(20, () => many(start, 12));
    expect(partsOf([segmented])).toBeGreaterThan(1);
    const found = await segmented.compute({ device });
    expect(
      await lazy(found).isclose(whole, { rtol: 1e-5, atol: 1e-6 }).all().compute({ device }),
    ).toMatchObject({ data: new Uint8Array([1]) });
    expect(bitsOf(await segmented.compute({ device }))).toEqual(bitsOf(found));
  });

  it('is not put aside before it is deep', () => {
    let acc = wave(8);
    for (let k = 0; k < 32_000; k++) acc = acc.add(1);
    expect(partsOf([acc])).toBe(0);
  });

  it('holds a bounded number of nodes', async () => {
    let acc = lazy(new Float32Array(16));
    const x = lazy(new Float32Array(16).fill(1));
    for (let k = 0; k < 120_000; k++) acc = acc.add(x);
    expect(nodesHeld([acc])).toBeLessThan(5 * 16_384);
    expect((await acc.compute({ device })).toArray()).toEqual(Array(16).fill(120_000));
  });

  it('is computed once for arrays that need each other', () => {
    const results = withLevels(100, () => LOOPS['two arrays that need each other']!(1000));
    const parts = segmentsBelow(canonicalize(results.map((x) => x.expr)));
    const computed = parts.reduce((sum, part) => sum + canonicalOfSegment(part).graph.nodes.length, 0);
    // Five nodes a step, and what each part reads.
    expect(computed).toBeLessThan(1.2 * 5 * 1000);
  });

  it('leaves handles on what lies below as they are', async () => {
    const kept: Lazy[] = [];
    const last = withLevels(10, () => {
      let acc = wave(10);
      for (let k = 0; k < 95; k++) {
        kept.push(acc);
        acc = acc.add(1);
      }
      return acc;
    });
    const results = await compute([last, ...kept], { device });
    const [start] = (await wave(10).compute({ device })).data as Float32Array;
    let expected = start!;
    for (const result of results.slice(1)) {
      expect((result.data as Float32Array)[0]).toBe(expected);
      expected = Math.fround(expected + 1);
    }
    expect((results[0]!.data as Float32Array)[0]).toBe(expected);
  });

  it('stays as it is where it is too wide to be a loop', () => {
    const results = withLevels(8, () => {
      let xs = Array.from({ length: 200 }, (_, k) => wave(4, k));
      for (let k = 0; k < 20; k++) xs = xs.map((x, i) => x.add(xs[(i * 7 + k) % 200]!));
      return xs;
    });
    expect(partsOf([results[0]!.add(1)])).toBe(0);
  });

  it('is traced as a whole in a compiled function', async () => {
    const add = compile(
      (x: Lazy) => {
        let acc = x;
        for (let k = 0; k < 40_000; k++) acc = acc.add(1);
        return acc;
      },
      { device },
    );
    expect((await add(new Float32Array([1]))).item()).toBe(40_001);
    expect((await add(new Float32Array([2]))).item()).toBe(40_002);
  });

  it('is a captured array of a compiled function', async () => {
    const deep = withLevels(10, () => LOOPS['a sum']!(35)[0]!);
    const plain = await deep.compute({ device });
    const f = compile((x: Lazy) => x.add(deep), { device });
    for (const shift of [0, 1]) {
      const found = await f(new Float32Array(100).fill(shift));
      expect(found.data).toEqual((plain.data as Float32Array).map((value) => value + shift));
    }
  });

  it('tells its parts and their peak', () => {
    const n = 1 << 16;
    const segmented = withLevels(10, () => {
      let x = wave(n);
      for (let k = 0; k < 48; k++)
        x =
          k === 5
            ? x
                .reshape([256, 256])
                .matmul(wave(n).reshape([256, 256]))
                .reshape([n])
                .sin()
            : x.sin();
      return x.slice([0, 4]);
    });
    const { segments, peakBytes } = segmented.plan({ device });
    expect(segments).toBe(partsOf([segmented]));
    expect(segments).toBeGreaterThan(2);
    // The product of the lowest part, not the four elements of the result.
    expect(peakBytes).toBeGreaterThan(4 * n);
    expect(String(segmented.explain({ device }))).toContain(`after ${segments} segments`);
  });
});
