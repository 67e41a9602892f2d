/**
 * Loops whose steps change what they take and update by: the values of as many steps by hand, and errors that name the
 * first index out of range, its axis and the line in the step, on every backend.
 */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  arange,
  compile,
  iterate,
  type Lazy,
  lazy,
  onesLike,
  RangeArgumentError,
  saveNpy,
  whileLoop,
  zeros,
} from '../../src/index.js';
import { run } from '../support/api.js';
import { backends } from '../support/backends.js';
import { Draw } from '../support/random.js';

const ints = (...values: readonly number[]): Lazy => lazy(Int32Array.from(values));
const numbersOf = async (device: string, outputs: readonly Lazy[]): Promise<number[][]> =>
  (await run(device, outputs)).map(({ data }) => Array.from(data as Float32Array, Number));

/** Each names the place of the next one. */
const LINKS = [7, 4, 9, 3, 11, 1, 0, 2, 6, 5, 8, 10];
const places = LINKS.map((_, k) => k);
const followed = (place: number, steps: number): number =>
  steps === 0 ? place : followed(LINKS[place]!, steps - 1);

describe.each(backends())('on %s, loops', (device) => {
  it('follow links, by one index and by many', async () => {
    const links = ints(...LINKS);
    const [one, all, wide, back] = await numbersOf(device, [
      iterate(5, lazy(6, { dtype: 'int32' }), (p) => links.take(p)),
      iterate(3, links, (p) => p.take(p)),
      iterate(4, ints(1, 2, 3).astype('uint64'), (p) => links.take(p).astype('uint64')),
      iterate(4, ints(1, 2, 3).astype('int8'), (p) => links.take(p.sub(12)).astype('int8')),
    ]);
    expect(one).toEqual([followed(6, 5)]);
    expect(all).toEqual(places.map((p) => followed(p, 8)));
    expect(wide).toEqual([1, 2, 3].map((p) => followed(p, 4)));
    expect(back).toEqual(wide);
  });

  it('keep steps, branch, and run in each other', async () => {
    const links = ints(...LINKS);
    const start = ints(6, 1);
    const [kept, until, nested, branch] = await numbersOf(device, [
      iterate(6, start, (p) => links.take(p), { every: 2 }),
      whileLoop(
        ([p]) => p.notEqual(10).all(),
        ([p, n]) => [links.take(p), n.add(1)],
        [ints(6), lazy(0)],
      )[1],
      iterate(3, start, (p) => iterate(2, p, (q) => links.take(q))),
      whileLoop(
        (p) => links.take(p).min().less(5),
        (p) => links.take(p),
        start,
        { max: 1 },
      ),
    ]);
    expect(kept).toEqual([2, 4, 6].flatMap((n) => [followed(6, n), followed(1, n)]));
    let steps = 0;
    for (let p = 6; p !== 10; p = LINKS[p]!) steps++;
    expect(until).toEqual([steps]);
    expect(nested).toEqual([followed(6, 6), followed(1, 6)]);
    expect(branch).toEqual([followed(6, 1), followed(1, 1)]);
  });

  it('update and count by what they compute', async () => {
    const start = ints(0, 1, 2, 3, 4, 5, 6, 7);
    const step = (x: Lazy): Lazy => x.at(x).add(1).at(x.argmax()).set(x.min());
    const counts = (x: Lazy): Lazy => x.bincount(9).slice([0, 8]).astype('int32');
    const along = (x: Lazy): Lazy => {
      const square = x.reshape([2, 4]);
      return square
        .takeAlongAxis(square.remainder(4).sub(1), 1)
        .add(square.take(square.slice(0, 0).remainder(2), 0).slice(0))
        .remainder(7)
        .reshape([8]);
    };
    for (const each of [step, counts, along]) {
      let byHand = start;
      for (let k = 0; k < 3; k++) byHand = each(byHand);
      const [looped, hand] = await numbersOf(device, [iterate(3, start, each), byHand]);
      expect(looped).toEqual(hand);
    }
  });
});

const RUNS = 24;
const SIZE = 5;

interface RandomProgram {
  readonly code: string;
  looped(): Lazy;
  byHand(device: string): Promise<Outcome>;
}

/** Elements, or the first line of an error. */
type Outcome = readonly number[] | string;

async function outcomeOf(x: Lazy, device: string): Promise<Outcome> {
  try {
    return Array.from((await x.compute({ device })).data as Int32Array);
  } catch (error) {
    if (!(error instanceof RangeArgumentError)) throw error;
    return error.message.split('\n')[0]!;
  }
}

/** What a step does to five integers: each reads and writes by the ones before, so that one index is the first. */
const PARTS: readonly ((draw: Draw) => readonly [code: string, part: (x: Lazy) => Lazy])[] = [
  (draw) => {
    const [a, b, m] = [draw.below(5) - 2, draw.below(5), 4 + draw.below(4)];
    return [`.mul(${a}).add(${b}).remainder(${m})`, (x) => x.mul(a).add(b).remainder(m)];
  },
  (draw) => {
    const c = draw.below(4) - 2;
    return [`.take(x + ${c})`, (x) => x.take(x.add(c))];
  },
  () => ['.takeAlongAxis(x)', (x) => x.takeAlongAxis(x)],
  (draw) => {
    const c = draw.below(5);
    return [`.at(x - ${c}).add(1)`, (x) => x.at(x.sub(c)).add(1)];
  },
  (draw) => {
    const n = SIZE + draw.below(3);
    return [`.bincount(${n})`, (x) => x.bincount(n).slice([0, SIZE]).astype('int32')];
  },
  () => ['.put(x, 3)', (x) => x.put(x, 3)],
  // Of axes whose size depends on data, and may be 0.
  (draw) => {
    const c = draw.below(5);
    return [`[x > ${c}].take(x)`, (x) => x.slice(x.greater(c)).take(x)];
  },
  (draw) => {
    const [c, i] = [draw.below(5), draw.below(5) - 2];
    return [` + x[x > ${c}][${i}]`, (x) => x.add(x.slice(x.greater(c)).slice(i)).remainder(6)];
  },
  (draw) => {
    const c = draw.below(4);
    return [`.at(x[x < ${c}]).add(1)`, (x) => x.at(x.slice(x.less(c))).add(1)];
  },
  () => ['.argsort()', (x) => x.takeAlongAxis(x.argsort())],
  // Two of one step: the first one is that on the left.
  (draw) => {
    const [c, d] = [draw.below(4) - 2, draw.below(5)];
    const code = `.take(x + ${c}) + zeros(4).take(x - ${d})`;
    return [
      code,
      (x) => {
        const right = zeros([4], 'int32').take(x.sub(d));
        return x.take(x.add(c)).add(right);
      },
    ];
  },
];

function randomProgram(draw: Draw): RandomProgram {
  const parts = Array.from({ length: 1 + draw.below(3) }, () => draw.of(PARTS)(draw));
  const step = (x: Lazy): Lazy => parts.reduce((y, [, part]) => part(y), x);
  const first = Array.from({ length: SIZE }, () => draw.below(SIZE));
  const steps = 1 + draw.below(6);
  const most = draw.below(3) === 0 ? 6 + draw.below(12) : undefined;
  const goesOn = (x: Lazy): Lazy => x.sum().less(most!);
  const code = `${steps} of x${parts.map(([text]) => text).join('')} from ${first}, below ${most}`;
  return {
    code,
    looped: () =>
      most === undefined
        ? iterate(steps, ints(...first), step)
        : whileLoop(goesOn, step, ints(...first), { max: steps }),
    byHand: async (device) => {
      let values: Outcome = first;
      for (let k = 0; k < steps && typeof values !== 'string'; k++) {
        if (most !== undefined && values.reduce((a, b) => a + b, 0) >= most) break;
        values = await outcomeOf(step(ints(...values)), device);
      }
      return values;
    },
  };
}

const devices = backends().filter((device) => device !== 'reference' && device !== 'interpreted');

/** The error of a compute, and the line of this file that it names. */
async function errorOf(work: Promise<unknown>): Promise<{ readonly text: string; readonly line: number }> {
  const error = await work.then(
    () => new Error('there was none'),
    (caught: unknown) => caught,
  );
  expect(error).toBeInstanceOf(RangeArgumentError);
  const [text, place, ...more] = (error as Error).message.split('\n');
  expect(more).toEqual([]);
  return { text: text!, line: Number(/made at .*loop-indices\.test\.ts:(\d+)/.exec(place ?? '')?.[1]) };
}

/** The line that calls this. */
const line = (): number =>
  Number(/loop-indices\.test\.ts:(\d+)/.exec(new Error().stack!.split('\n')[2]!)![1]);

describe.each(devices)('on %s, an index out of range in a loop', (device) => {
  it('is named, with the line in the step', async () => {
    const table = arange(12);
    let at = 0;
    const walk = (steps: number): Lazy =>
      iterate(steps, [ints(8, 10), zeros([2])], ([p, sum]) => {
        at = line() + 1;
        return [p.add(1), sum.add(table.take(p))];
      })[1];
    expect((await walk(2).compute({ device })).toArray()).toEqual([17, 21]);
    const error = await errorOf(walk(9).compute({ device }));
    expect(error).toEqual({
      text: '[take] expected indices from -12 to 11 for axis 0 of 12 elements: 12',
      line: at,
    });
    // Nothing is left of it.
    expect((await walk(2).compute({ device })).toArray()).toEqual([17, 21]);
  });

  it.each<readonly [string, (x: Lazy) => Lazy, string]>([
    ['take', (x) => x.take(x.sub(9)), '[take] expected indices from -4 to 3 for axis 0 of 4 elements: -9'],
    ['an element', (x) => x.take(x.max().add(1)).add(x), 'axis 0 of 4 elements: 4'],
    ['rows', (x) => zeros([2, 4], 'int32').take(x, 0).sum(1).astype('int32'), 'axis 0 of 2 elements: 3'],
    ['columns', (x) => zeros([4, 3], 'int32').take(x, 1).sum(0).astype('int32'), 'axis 1 of 3 elements: 3'],
    [
      'takeAlongAxis',
      (x) => x.takeAlongAxis(x.mul(2)),
      '[takeAlongAxis] expected indices from -4 to 3 for axis 0 of 4 elements: 6',
    ],
    [
      'slice',
      (x) => x.reshape([2, 2]).slice(x, 0),
      '[slice] expected indices from -2 to 1 for axis 0 of 2 elements: 3',
    ],
    [
      'at',
      (x) => x.at(x.add(1)).add(1),
      '[at.add] expected indices from -4 to 3 for axis 0 of 4 elements: 4',
    ],
    [
      'at of places',
      (x) => x.reshape([2, 2]).at(x, 0).set(1).reshape([4]),
      '[at.set] expected indices from -2 to 1 for axis 0 of 2 elements: 3',
    ],
    ['put', (x) => x.put(x.mul(-2), 7), '[put] expected indices from -4 to 3 for axis 0 of 4 elements: -6'],
    [
      'putAlongAxis',
      (x) => x.putAlongAxis(x.add(1), 7),
      '[putAlongAxis] expected indices from -4 to 3 for axis 0 of 4 elements: 4',
    ],
    [
      'bincount',
      (x) => x.bincount(3).sum().add(x).astype('int32'),
      '[bincount] expected indices from 0 to 2 for axis 0 of 3 elements: 3',
    ],
    [
      'segmentSum',
      (x) => x.segmentSum(x, 3).sum().add(x).astype('int32'),
      '[segmentSum] expected indices from -3 to 2 for axis 0 of 3 elements: 3',
    ],
    [
      'uint64',
      (x) => x.take(x.astype('uint64').sub(1).maximum(0)).astype('int32'),
      'axis 0 of 4 elements: 18446744073709551615',
    ],
    [
      'int64',
      (x) => x.take(x.astype('int64').sub(2n ** 62n)).astype('int32'),
      'axis 0 of 4 elements: -4611686018427387904',
    ],
  ])('of %s', async (_, step, text) => {
    const start = ints(0, 1, 2, 3);
    const error = await errorOf(iterate(2, start, step).compute({ device }));
    expect(error.text).toContain(text);
    expect(error.line).toBeGreaterThan(0);
  });

  it('of sums of many rows', async () => {
    const rows = 5000;
    const whole = ints(...Array(rows).keys());
    const step =
      (most: number) =>
      ([keys, sums]: readonly [Lazy, Lazy]): [Lazy, Lazy] => [
        keys.add(1).remainder(most),
        sums.add(whole.astype('float32').segmentSum(keys, 40)),
      ];
    const start = (): [Lazy, Lazy] => [whole.remainder(40), zeros([40])];
    const [, sums] = iterate(3, start(), step(40));
    const total = (await sums.sum().compute({ device })).item();
    expect(total).toBe((3 * rows * (rows - 1)) / 2);
    const error = await errorOf(iterate(3, start(), step(41))[1].compute({ device }));
    expect(error.text).toContain(
      '[segmentSum] expected indices from -40 to 39 for axis 0 of 40 elements: 40',
    );
  });

  it('is one of indices as many as a mask of a state says, whichever of both a step changes', async () => {
    const [table, start] = [ints(9, 2, 3), ints(1, 2, 0)];
    const added = (p: Lazy, places: Lazy): Lazy => p.add(table.take(places).sum()).astype('int32');
    const alike = (p: Lazy, first: number, least: number): Lazy =>
      added(p, onesLike(p.slice(p.greater(least))).add(first));
    const loops = [
      // A mask that no step changes.
      iterate(2, [start, table], ([p, q]) => [p, q.at(p.slice(p.less(1))).set(7)])[1],
      iterate(2, [start, table], ([p, q]) => [p, added(q, p.slice(p.greater(0)).flip(0))])[1],
      // Equal indices, of which a step changes the number.
      iterate(2, start, (p) => alike(p, 1, 0)),
      iterate(2, start, (p) => alike(p, 8, 99)),
      iterate(2, start, (p) => iterate(1, table, (q) => added(q, onesLike(p.slice(p.greater(0))))).sub(8)),
    ];
    expect(await numbersOf(device, loops)).toEqual([
      [7, 2, 3],
      [19, 12, 13],
      [16, 17, 15],
      [1, 2, 0],
      [3, -4, -3],
    ]);
    const wrong = [
      iterate(2, [start, table], ([p, q]) => [p, q.at(p.slice(p.greater(1)).add(7)).set(7)])[1],
      iterate(2, start, (p) => alike(p, 8, 0)),
      iterate(2, start, (p) => iterate(1, table, (q) => added(q, onesLike(p.slice(p.greater(0))).add(8)))),
    ];
    for (const each of wrong)
      expect((await errorOf(each.compute({ device }))).text).toContain('axis 0 of 3 elements: 9');
  });

  it('is the first one, of the first step that has one, and of what that computes first', async () => {
    const table = arange(6);
    const far = arange(4).astype('int32');
    const both = (first: number, second: number, steps: number): Promise<unknown> =>
      iterate(steps, [ints(0), ints(0), zeros([1])], ([p, q, sum]) => [
        p.add(first),
        q.add(second),
        sum.add(table.take(p)).add(far.take(q)),
      ])[2].compute({ device });
    expect((await errorOf(both(1, 1, 9))).text).toContain('axis 0 of 4 elements: 4');
    expect((await errorOf(both(2, 1, 9))).text).toContain('axis 0 of 6 elements: 6');
    expect((await errorOf(both(-1, 0, 9))).text).toContain('axis 0 of 6 elements: -7');
    const beside = (p: Lazy): Lazy => table.take(p).astype('int32').add(far.take(p));
    for (const step of [beside, (p: Lazy) => far.take(p).add(table.take(p)).astype('int32')]) {
      const byHand = await errorOf(step(ints(9)).compute({ device }));
      expect(await errorOf(iterate(1, ints(9), step).compute({ device }))).toEqual(byHand);
    }
    const chained = iterate(4, ints(0, 1), (p) => far.take(far.take(p.add(2)).add(1)));
    expect((await errorOf(chained.compute({ device }))).text).toContain('axis 0 of 4 elements: 4');
  });

  it('ends loops that would not', async () => {
    const links = ints(1, 2, 5, 0);
    const end = whileLoop(
      (p) => p.notEqual(3).all(),
      (p) => links.take(p),
      ints(0),
    );
    expect((await errorOf(end.compute({ device }))).text).toContain('axis 0 of 4 elements: 5');
    const condition = whileLoop(
      (p) => links.take(p).less(9).all(),
      (p) => p.add(1),
      ints(0),
    );
    expect((await errorOf(condition.compute({ device }))).text).toContain('axis 0 of 4 elements: 4');
  });

  it('is none in a condition behind the last step', async () => {
    const links = ints(1, 2, 5, 0);
    const walk = (max: number): Lazy =>
      whileLoop(
        (p) => links.take(p).less(9).all(),
        (p) => p.add(1),
        ints(0),
        { max },
      );
    expect((await walk(4).compute({ device })).toArray()).toEqual([4]);
    expect((await errorOf(walk(5).compute({ device }))).text).toContain('axis 0 of 4 elements: 4');
  });

  it('is found in loops in loops, kept steps and parts that others read', async () => {
    const table = arange(6);
    const nested = (steps: number): Lazy =>
      iterate(steps, [ints(0), zeros([1])], ([p, sum]) => [
        p.add(2),
        iterate(2, sum, (s, k) => s.add(table.take(p.add(k)))),
      ])[1];
    expect((await nested(3).compute({ device })).toArray()).toEqual([15]);
    expect((await errorOf(nested(4).compute({ device }))).text).toContain('axis 0 of 6 elements: 6');
    const captured = (steps: number): Lazy =>
      iterate(steps, [ints(0), zeros([1])], ([p, sum]) => [
        p.add(2),
        iterate(2, sum, (s) => s.add(table.take(p))),
      ])[1];
    expect((await captured(3).compute({ device })).toArray()).toEqual([12]);
    expect((await errorOf(captured(4).compute({ device }))).text).toContain('axis 0 of 6 elements: 6');
    const inner = iterate(2, zeros([1]), (s) =>
      s.add(iterate(7, ints(0), (p) => table.take(p).add(1).astype('int32'))),
    );
    expect((await errorOf(inner.compute({ device }))).text).toContain('axis 0 of 6 elements: 6');
    const kept = iterate(9, ints(0), (p) => table.take(p).add(1).astype('int32'), { every: 3 });
    expect((await errorOf(kept.compute({ device }))).text).toContain('axis 0 of 6 elements: 6');
    const read = arange(100).take(iterate(9, ints(0), (p) => table.take(p).add(1).astype('int32')));
    expect((await errorOf(read.mul(2).compute({ device }))).text).toContain('axis 0 of 6 elements: 6');
  });

  it('leaves no result on a device and no file, and others run beside it', async () => {
    const table = arange(6);
    const walk = (steps: number): Lazy =>
      iterate(steps, [ints(0), zeros([1])], ([p, sum]) => [p.add(1), sum.add(table.take(p))])[1];
    const settled = await Promise.allSettled([3, 7, 6, 8].map((steps) => walk(steps).compute({ device })));
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'rejected']);
    await errorOf(walk(7).persist({ device }));
    const stored = await walk(6).persist({ device });
    expect((await stored.compute()).toArray()).toEqual([15]);
    stored.dispose();
    const folder = await mkdtemp(join(tmpdir(), 'weft-loop-'));
    try {
      await errorOf(saveNpy(join(folder, 'x.npy'), walk(7), { device }));
      expect(await readdir(folder)).toEqual([]);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('is an error of compiled functions, which run again', async () => {
    const walk = compile(
      (start: Lazy, table: Lazy) =>
        iterate(3, [start, zeros([2])], ([p, sum]) => [p.add(1), sum.add(table.take(p))])[1],
      { device },
    );
    const table = new Float32Array([0, 1, 2, 3, 4, 5]);
    for (let round = 0; round < 3; round++) {
      expect((await walk(Int32Array.of(0, 3), table)).toArray()).toEqual([3, 12]);
      expect((await errorOf(walk(Int32Array.of(0, 5), table))).text).toContain('axis 0 of 6 elements: 6');
      await errorOf(walk.persist(Int32Array.of(-9, 0), table));
    }
  });

  it('is that of as many steps by hand, in random programs', async () => {
    for (let seed = 1; seed <= RUNS; seed++) {
      const draw = new Draw(4000 + seed);
      const program = randomProgram(draw);
      const [looped, byHand] = [await outcomeOf(program.looped(), device), await program.byHand(device)];
      expect(looped, `seed ${seed}: ${program.code}`).toEqual(byHand);
    }
  });
});
