/**
 * iterate() and whileLoop(): values, forms of states, kept states, what is carried and captured, refusals; on
 * the CPU.
 */
import { describe, expect, it } from 'vitest';
import {
  ArgumentError,
  arange,
  compute,
  concat,
  DTypeError,
  einsum,
  iterate,
  type Lazy,
  lazy,
  MemoryError,
  NDArray,
  RangeArgumentError,
  resultType,
  ShapeError,
  sparse,
  where,
  whileLoop,
  zeros,
} from '../src/index.js';

const device = 'cpu';
const ramp = (n: number): Float32Array => Float32Array.from({ length: n }, (_, i) => i);
const elements = async (x: Lazy): Promise<readonly number[]> =>
  Array.from((await x.compute({ device })).data as Float64Array);

describe('iterate', () => {
  it('gives what as many steps by hand give, for even and odd counts', async () => {
    const x = lazy(ramp(100)).div(7);
    const step = (y: Lazy): Lazy => y.mul(1.5).sub(y.slice([null, null, -1]));
    for (const n of [1, 2, 3, 8]) {
      let byHand: Lazy = x;
      for (let k = 0; k < n; k++) byHand = step(byHand);
      expect(await elements(iterate(n, x, step))).toEqual(await elements(byHand));
    }
  });

  it('calls its function once, with arrays like the states and the number of the step', async () => {
    const seen: string[] = [];
    const sum = iterate(5, lazy(new Int32Array([10])), (x, i) => {
      seen.push(`${x}`, `${i}`);
      return x.add(i.astype('int32'));
    });
    expect(seen).toEqual(['Lazy int32 (1)', 'Lazy int64 ()'].map((s) => s.replace('(1)', '(1,)')));
    expect(await elements(sum)).toEqual([20]);
  });

  it.each([
    'int8',
    'uint16',
    'int32',
    'int64',
    'uint64',
    'float16',
    'float32',
    'float64',
    'complex64',
  ] as const)(
    'keeps states of %s beside the number of the step, as beside a JavaScript number',
    async (dtype) => {
      const start = lazy([1, 2], { dtype });
      const byHand = [0, 1, 2].reduce<Lazy>((x, step) => x.mul(step).add(step), start);
      const stepped = iterate(3, start, (x, step) => x.mul(step).add(step));
      expect(stepped.dtype).toBe(dtype);
      expect(await elements(stepped)).toEqual(await elements(byHand));
      const counted = whileLoop(
        (x) => x.real().max().less(10),
        (x, step) => x.add(step),
        start,
      );
      expect([counted.dtype, (await counted.real().astype('float64').compute({ device })).toArray()]).toEqual(
        [dtype, [11, 12]],
      );
    },
  );

  it('keeps what is computed from the number of the step weak, until it meets an array or a dtype is asked for', () => {
    const dtypes: string[] = [];
    const note = (...arrays: Lazy[]): void => {
      dtypes.push(arrays.map(({ dtype }) => dtype).join(' '));
    };
    iterate(3, { x: lazy(ramp(3)), b: lazy([true]), n: lazy(new Int32Array(1)) }, ({ x, b, n }, step) => {
      note(step, step.mul(2), step.mul(0.5), step.less(2), step.div(2).exp());
      note(x.mul(step), x.mul(step.mul(0.5)), step.div(3).sub(x), x.pow(step.reshape([1])));
      note(n.add(step), n.mul(step.mul(0.5)), b.add(step), n.mul(step.less(2)), b.logicalAnd(step));
      note(where(x.less(1), x, step), where(step.less(1), n, 0), where(x.less(1), step, 0).mul(x));
      note(step.astype('int64').mul(x), lazy(step, { dtype: 'int64' }).mul(x), step.astype('float32').mul(n));
      note(concat([x, step.reshape([1])]), einsum('i,->i', x, step), step.reshape([1]).dot(x.slice([0, 1])));
      return { x, b, n };
    });
    expect(dtypes).toEqual([
      'int64 int64 float64 bool float64',
      'float32 float32 float32 float32',
      'int32 float64 int64 int32 bool',
      'float32 int32 float32',
      'float64 float64 float64',
      'float32 float32 float32',
    ]);
    expect(resultType('float32', 1)).toBe('float32');
  });

  it('takes numbers and the number of the step as the next state, in its dtype', async () => {
    const [a, b] = iterate(4, [lazy(5, { dtype: 'float32' }), lazy(0, { dtype: 'uint8' })], (_, step) => [
      2,
      step,
    ]);
    expect([a.dtype, b.dtype, await elements(a), await elements(b)]).toEqual(['float32', 'uint8', [2], [3]]);
    expect(() => iterate(3, lazy(0n), (_, step) => step.mul(0.5))).toThrow(DTypeError);
    expect(() => iterate(3, lazy(0n), () => 0.5)).toThrow(DTypeError);
    expect(() => iterate(3, lazy(0, { dtype: 'int8' }), () => 300)).toThrow(RangeArgumentError);
  });

  it('takes and gives states as lists and as objects', async () => {
    const [a, b] = iterate(10, [lazy([0n]), lazy([1n])], ([x, y]) => [y, x.add(y)]);
    expect((await compute([a, b], { device })).map((x) => x.item())).toEqual([55, 89]);
    const { x, v } = iterate(100, { x: 1, v: 0 }, (s) => ({
      v: s.v.sub(s.x.mul(0.01)),
      x: s.x.add(s.v.mul(0.01)),
    }));
    const energy = await elements(x.square().add(v.square()));
    expect(energy[0]).toBeCloseTo(1.01004966, 7);
  });

  it('gives the states as they were for no step, and for states that do not change', async () => {
    expect(await elements(iterate(0, lazy([1, 2]), (x) => x.add(1)))).toEqual([1, 2]);
    const [a, b] = iterate(3, [lazy([1]), lazy([2])], ([x, y]) => [x, x.add(y)]);
    expect(await elements(a)).toEqual([1]);
    expect(await elements(b)).toEqual([5]);
  });

  it('keeps the state after every so many steps along a new axis', async () => {
    const kept = iterate(7, lazy([1, 10]), (x) => x.mul(2), { every: 2 });
    expect(kept.shape).toEqual([3, 2]);
    expect(await elements(kept)).toEqual([4, 40, 16, 160, 64, 640]);
    expect(await elements(iterate(3, lazy([5]), (x) => x.add(1), { every: 1 }))).toEqual([6, 7, 8]);
    const none = iterate(3, lazy([5]), (x) => x.add(1), { every: 4 });
    expect([none.shape, await elements(none)]).toEqual([[0, 1], []]);
    const [same] = iterate(4, [lazy([5]), lazy([1])], ([x, y]) => [x, x.add(y)], { every: 2 });
    expect(await elements(same)).toEqual([5, 5]);
  });

  it('is part of a larger graph, before and after it', async () => {
    const x = lazy(ramp(50));
    const start = x.add(1).log();
    const y = iterate(4, start, (z) => z.sin());
    const [total, itself] = await compute([y.mul(2).sum(), y], { device });
    const byHand = await compute(
      [start.sin().sin().sin().sin().mul(2).sum(), start.sin().sin().sin().sin()],
      {
        device,
      },
    );
    expect(total.item()).toBe(byHand[0].item());
    expect(itself.data).toEqual(byHand[1].data);
  });

  it('may stand in the body of another loop, and capture that loop’s states', async () => {
    const y = iterate(3, lazy([1, 2]), (x, i) => iterate(2, x, (z) => z.add(x).add(i)));
    // Each outer step: z = x, then twice z + x + i: 3 x + 2 i.
    expect(await elements(y)).toEqual([27 + 3 * 2 + 4, 54 + 3 * 2 + 4]);
  });

  it('runs products and reductions in its body', async () => {
    const a = lazy([
      [2, 1],
      [1, 3],
    ]);
    const v = iterate(60, lazy([1, 1]), (x) => {
      const y = a.matmul(x);
      return y.div(y.square().sum().sqrt());
    });
    const value = (await elements(v.mul(a.matmul(v)).sum()))[0];
    expect(value).toBeCloseTo((5 + Math.sqrt(5)) / 2, 12);
  });

  it('passes over states without elements', async () => {
    const [empty, x] = iterate(3, [zeros([0, 4]), lazy([1])], ([e, y]) => [e.add(1), y.add(e.sum())]);
    expect(empty.shape).toEqual([0, 4]);
    expect(await elements(x)).toEqual([1]);
    expect(await elements(empty)).toEqual([]);
  });

  it('works with data of other layouts, results and large states', async () => {
    const data = ramp(12);
    const turned = { data, shape: [3, 4], strides: [1, 3] };
    const y = iterate(2, turned, (x) => x.add(1));
    expect(await elements(y)).toEqual(await elements(lazy(turned).add(2)));
    const result = await lazy(ramp(300_000)).astype('float64').compute({ device });
    expect(result).toBeInstanceOf(NDArray);
    const sums = await elements(iterate(3, result, (x) => x.mul(2)).sum());
    expect(sums).toEqual([(300_000 * 299_999 * 8) / 2]);
  });
});

describe('whileLoop', () => {
  it('runs until its condition fails, exactly so many steps', async () => {
    for (const limit of [0, 1, 2, 7, 8]) {
      const [x, steps] = whileLoop(
        ([y]) => y.less(limit),
        ([y, n]) => [y.add(1), n.add(1)],
        [lazy(0), lazy(0)],
      );
      expect((await compute([x, steps], { device })).map((r) => r.item())).toEqual([limit, limit]);
    }
  });

  it('ends after `max` steps', async () => {
    const run = (max: number): Promise<readonly number[]> =>
      elements(
        whileLoop(
          (x) => x.greater(0),
          (x) => x.add(1),
          lazy(1),
          { max },
        ),
      );
    expect([await run(0), await run(1), await run(6)]).toEqual([[1], [2], [7]]);
  });

  it('finds a root by Newton’s method, and tells the step', async () => {
    const root = whileLoop(
      (x) => x.square().sub(2).abs().max().greater(1e-14),
      (x, step) => x.add(lazy(2).div(x)).div(2).add(step.mul(0)),
      lazy([1, 5]),
    );
    for (const x of await elements(root)) expect(x).toBeCloseTo(Math.SQRT2, 14);
  });

  it('may stand in another loop', async () => {
    // The largest power of two below 10, 20 and 30: 8, 16, 16.
    const [sum] = iterate(3, [lazy(0), lazy(10)], ([total, limit]) => {
      const power = whileLoop(
        (p) => p.mul(2).less(limit),
        (p) => p.mul(2),
        lazy(1),
      );
      return [total.add(power), limit.add(10)];
    });
    expect(await elements(sum)).toEqual([40]);
  });
});

describe('what a loop captures', () => {
  it('is computed once, before the loop, where no step changes it', () => {
    const w = lazy(ramp(1000));
    const y = iterate(10, lazy(ramp(1000)), (x) => x.mul(w.exp().sum()).add(w.sin()));
    const { steps } = y.explain({ device });
    const inLoop = steps.filter((step) => step.loop !== undefined).map((step) => step.name);
    expect(inLoop).toEqual(['map_multiply_add']);
    const before = steps.filter((step) => step.loop === undefined).map((step) => step.name);
    expect(before.join()).toMatch(/exp/);
    expect(before.join()).toMatch(/sin/);
  });

  it('is computed in each step where that is less than reading it', () => {
    const y = iterate(10, zeros([64, 64]), (x) => x.add(arange(64).mul(2)).where(x.less(3), x));
    expect(y.explain({ device }).steps.map((step) => step.name)).toHaveLength(2); // zeros, and the body
  });
});

describe('explain', () => {
  it('shows the body of a loop and its kernels', () => {
    const y = iterate(100, lazy(ramp(64)), (x) => x.sin().add(1)).sum();
    const explanation = y.explain({ device });
    expect(explanation.steps.map(({ name, loop }) => [name, loop?.count])).toEqual([
      ['map_sin_add', '100 times'],
      ['reduce_sum', undefined],
    ]);
    expect(`${explanation}`).toContain('loop 100 times, state 0');
    expect(`${explanation}`).toContain('in loop 0 (100 times)');
    expect(explanation.toDot()).toContain('step 0');
    expect(explanation.edges).toMatchObject([{ from: 0, to: 1, bytes: 512, reason: 'loop' }]);
    expect(explanation.steps[0]!.reads).toEqual(['source 0 float32']);
    expect(explanation.steps[1]!.reads).toEqual(explanation.steps[0]!.writes);
  });

  it('tells why the kernels of a body are several', () => {
    const y = iterate(100, lazy(ramp(64)).exp(), (x) => x.sub(x.slice([null, null, -1]).sin().sum())).mul(2);
    const { steps, edges, results } = y.explain({ device });
    expect(steps.map(({ name }) => name)).toEqual([
      'map_exp',
      'reduce_sin_sum',
      'map_subtract',
      'map_multiply',
    ]);
    expect(edges.map(({ from, to }) => [from, to])).toEqual([
      [0, 1],
      [2, 3],
      [1, 2],
    ]);
    expect(edges[2]).toMatchObject({ bytes: 8, reason: expect.stringMatching(/^[a-z-]+$/) });
    expect(steps.at(-1)!.writes).toEqual(results);
  });
});

describe('the memory of a loop', () => {
  const arenaOf = (y: Lazy): number => y.explain({ device }).arenaBytes;
  it('is two buffers for each state, by turns', () => {
    expect(arenaOf(iterate(5, lazy(ramp(1 << 16)), (x) => x.slice([null, null, -1]).add(1)))).toBe(1 << 18);
  });

  it('is one where every element is read by the thread that then writes it, or the body is run once', () => {
    expect(arenaOf(iterate(5, lazy(ramp(1 << 16)), (x) => x.sin().add(1)))).toBe(0);
    expect(arenaOf(iterate(1, lazy(ramp(1 << 16)), (x) => x.slice([null, null, -1]).add(1)))).toBe(0);
    const [x, y] = [lazy(ramp(1 << 16)), lazy(ramp(1 << 16)).add(1)];
    expect(arenaOf(iterate(5, [x, x], ([a, b]) => [a.add(b), b.sub(a)])[0])).toBe(1 << 18);
    // One takes the other's place before that is read.
    expect(arenaOf(iterate(5, [x, y], ([a, b]) => [b, a])[0])).toBe(4 << 18);
  });
});

describe('loops refuse', () => {
  const x = lazy(ramp(3));
  it('states that change their shape, dtype, number or names', () => {
    expect(() => iterate(3, x, (y) => y.sum())).toThrow(ShapeError);
    expect(() => iterate(3, x, (y) => y.sum())).toThrow(
      '[iterate] expected the state to stay of shape (3,): ()',
    );
    expect(() =>
      iterate(3, [x, 1], ([y, z]) => [y, z.add(y.astype('float64').sum()).astype('float32')]),
    ).toThrow('[iterate] expected state 1 to stay float64: float32');
    expect(() => iterate(3, x, (y) => y.astype('int32'))).toThrow(DTypeError);
    const list = (y: Lazy): Lazy => [y, y] as unknown as Lazy;
    expect(() => iterate(3, x, list)).toThrow(ArgumentError);
    expect(() => iterate(3, { x }, (() => ({ y: x })) as never)).toThrow(
      '[iterate] expected a step to give states x: states y',
    );
  });

  it('counts that are no whole numbers', () => {
    for (const n of [-1, 1.5, Number.NaN, '3' as unknown as number])
      expect(() => iterate(n, x, (y) => y)).toThrow(RangeArgumentError);
    expect(() => iterate(3, x, (y) => y, { every: 0 })).toThrow(RangeArgumentError);
    expect(() =>
      whileLoop(
        (y) => y.any(),
        (y) => y,
        x,
        { max: -1 },
      ),
    ).toThrow(RangeArgumentError);
  });

  it('conditions that are not one bool, and options they do not know', () => {
    expect(() =>
      whileLoop(
        (y) => y.less(3),
        (y) => y,
        x,
      ),
    ).toThrow(ShapeError);
    expect(() =>
      whileLoop(
        (y) => y.sum(),
        (y) => y,
        x,
      ),
    ).toThrow(DTypeError);
    expect(() => iterate(3, x, (y) => y, { evry: 2 } as never)).toThrow(ArgumentError);
  });

  it('functions that await or compute', async () => {
    expect(() => iterate(3, x, (async (y: Lazy) => y) as never)).toThrow(/Promise/);
    let leaked: Lazy | undefined;
    iterate(3, x, (y) => {
      leaked = y;
      return y.add(1);
    });
    await expect(leaked!.add(1).compute({ device })).rejects.toThrow(
      '[iterate] expected a function that builds a graph',
    );
  });

  it('budgets that their bodies do not fit into', () => {
    const y = iterate(3, lazy(ramp(100_000)), (z) => z.sort().add(1));
    const { peakBytes } = y.plan({ device });
    expect(peakBytes).toBeGreaterThanOrEqual(400_000);
    expect(() => y.plan({ device, memory: '100KiB' })).toThrow(MemoryError);
    expect(() => y.plan({ device, memory: '100KiB' })).toThrow(/loop/);
  });
});

describe('a long loop', () => {
  it('ends soon after it is cancelled', async () => {
    const cancel = new AbortController();
    const y = iterate(1e12, lazy(ramp(1000)), (x) => x.sin());
    const running = y.compute({ device, signal: cancel.signal });
    setTimeout(() => cancel.abort(), 50);
    await expect(running).rejects.toThrow(/abort/i);
  });

  it('tells how many steps are done', async () => {
    const reports: [number, number][] = [];
    const y = iterate(30_000, lazy(ramp(1000)), (x) => x.sin());
    await y.compute({ device, onProgress: ({ tiles, totalTiles }) => reports.push([tiles, totalTiles]) });
    expect(reports.at(-1)).toEqual([30_000, 30_000]);
    for (const [tiles] of reports) expect(tiles).toBeLessThanOrEqual(30_000);
  });
});

describe('sparse matrices in loops', () => {
  const line = lazy(Int32Array.of(0, 1, 2));
  const starts = lazy(Int32Array.of(0, 1, 2, 3));
  const data = lazy([1, 2, 3]);

  it('are refused where a step changes what is stored where', () => {
    const sums = (indices: Lazy, indptr: Lazy): Lazy =>
      sparse
        .csr({ data, indices, indptr }, [3, 3])
        .matmul(lazy([1, 1, 1]))
        .sum()
        .astype('int32');
    const wanted = 'expected a sparse matrix that no step of a loop changes';
    expect(() => iterate(2, starts, (s) => s.add(sums(line, s)))).toThrow(wanted);
    expect(() => iterate(2, line, (s) => s.add(sums(s, starts)))).toThrow(wanted);
  });

  it('are made of coordinates that a step computes, which are looked at', async () => {
    const walk = (most: number): Lazy =>
      iterate(2, line, (row) =>
        sparse
          .coo({ data, row, col: line }, [3, 3])
          .matmul(lazy([1, 1, 1]))
          .mul(0)
          .astype('int32')
          .add(row.add(1).remainder(most)),
      );
    expect((await walk(3).compute({ device })).toArray()).toEqual([2, 0, 1]);
    await expect(walk(4).compute({ device })).rejects.toThrow(
      /\[sparse.coo: row\] expected indices from 0 to 2 for axis 0 of 3 elements: 3\n +made at .*loops\.test/,
    );
  });
});
