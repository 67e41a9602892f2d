/**
 * Holds contractions of two arrays on a GPU, with labels in any order, beside the CPU: each by cuTENSOR and each
 * by cuBLAS, which has copies made; elements are small integers, so every order of the sums is exact. With
 * `--times`, times a few layouts by each library and by the one that Weft chooses.
 *
 *     node dist/test/devices/contractions.js --count 2000 --seed 1
 *     node dist/test/devices/contractions.js --count 0 --times
 *     node dist/test/devices/contractions.js --simulated --count 50
 */
import { parseArgs } from 'node:util';
import type { DType, Lazy, ProductLibrary } from '../../src/index.js';
import { generator } from '../support/random.js';
import { describeDevice } from './device-name.js';

const { values } = parseArgs({
  options: {
    device: { type: 'string', default: 'cuda' },
    simulated: { type: 'boolean', default: false },
    count: { type: 'string', default: '2000' },
    seed: { type: 'string', default: '20261125' },
    times: { type: 'boolean', default: false },
    library: { type: 'string', default: 'cutensor,cublas' },
  },
});
if (values.simulated) {
  const { SIM_ENVIRONMENT } = await import('../sim/environment.js');
  Object.assign(process.env, SIM_ENVIRONMENT);
}
const { einsum, lazy, linspace } = await import('../../src/index.js');
const { device } = values;
const libraries = values.library.split(',') as ProductLibrary[];

const DTYPES = ['float16', 'bfloat16', 'float32', 'float64', 'complex64', 'complex128'] as const;
const SIZES = [2, 3, 4, 5, 6, 7, 9, 12, 1, 16, 17];
/** Terms of a sum whose value bfloat16 holds whatever it is, and elements of an operand. */
const MOST_TERMS = 256;
const MOST_ELEMENTS = 20_000;

interface Drawn {
  readonly subscripts: string;
  readonly dtype: DType;
  readonly operands: readonly Lazy[];
  readonly conjugates: readonly boolean[];
}

function shuffled<T>(list: readonly T[], random: () => number): T[] {
  const left = [...list];
  return list.map(() => left.splice(Math.floor(random() * left.length), 1)[0]!);
}

/** Labels of both operands, of one, and of both that are summed, in random orders. */
function draw(seed: number): Drawn {
  const random = generator(seed);
  const below = (n: number): number => Math.floor(random() * n);
  for (;;) {
    const letters = [...'abcdefghij'];
    const take = (count: number): string[] => letters.splice(0, count);
    const [batch, own, other, summed] = [
      take(below(3)),
      take(1 + below(3)),
      take(1 + below(3)),
      take(1 + below(2)),
    ];
    const sizes = new Map(
      [...batch, ...own, ...other, ...summed].map((l) => [l, SIZES[below(SIZES.length)]!]),
    );
    const volume = (list: readonly string[]): number => list.reduce((n, l) => n * sizes.get(l)!, 1);
    const left = shuffled([...batch, ...own, ...summed], random);
    const right = shuffled([...batch, ...other, ...summed], random);
    const output = shuffled([...batch, ...own, ...other], random);
    if (volume(summed) > MOST_TERMS || Math.max(...[left, right, output].map(volume)) > MOST_ELEMENTS)
      continue;
    const dtype = DTYPES[below(DTYPES.length)]!;
    const isComplex = dtype.startsWith('complex');
    const operands = [left, right].map((list) => {
      const part = (): Lazy =>
        lazy({
          data: Float64Array.from({ length: volume(list) }, () => below(3) - 1),
          shape: list.map((l) => sizes.get(l)!),
        });
      return isComplex ? part().add(part().mul({ re: 0, im: 1 })) : part();
    });
    const conjugates = operands.map(() => isComplex && random() < 0.4);
    return {
      subscripts: `${left.join('')},${right.join('')}->${output.join('')}`,
      dtype,
      operands,
      conjugates,
    };
  }
}

let failures = 0;
async function hold(seed: number): Promise<void> {
  const { subscripts, dtype, operands, conjugates } = draw(seed);
  const arrays = await Promise.all(operands.map((x) => x.astype(dtype).compute({ device: 'cpu' })));
  const factors = arrays.map((x, k) => (conjugates[k] ? lazy(x).conj() : lazy(x)));
  const wanted = await einsum(subscripts, ...factors).compute({ device: 'cpu' });
  for (const library of libraries) {
    const label = `seed ${seed} by ${library}: ${dtype} ${subscripts} of ${arrays.map(({ shape }) => shape.join('x'))}, conjugates ${conjugates}`;
    // A call that fails is counted, and the next is made.
    const found = await einsum(subscripts, ...factors, { library })
      .compute({ device })
      .catch((error: Error) => error.message.split('\n')[0]!);
    if (typeof found === 'string') {
      failures++;
      console.log(`FAIL ${label}: ${found}`);
      continue;
    }
    const same = await lazy(found).equal(lazy(wanted)).all().compute({ device: 'cpu' });
    if (same.data[0]) continue;
    failures++;
    console.log(`FAIL ${label}: other values`);
  }
}

console.log(describeDevice(device, values.simulated));
const [count, first] = [Number(values.count), Number(values.seed)];
/** Computed together. */
const TOGETHER = 32;
const begun = performance.now();
for (let seed = first; seed < first + count; seed += TOGETHER)
  await Promise.all(
    Array.from({ length: Math.min(TOGETHER, first + count - seed) }, (_, k) => hold(seed + k)),
  );
console.log(
  `${count} contractions by ${libraries.join(' and ')} from seed ${first}: ${failures === 0 ? 'all right' : `${failures} wrong`}, ${((performance.now() - begun) / 1000).toFixed(1)} s`,
);

/** Layouts whose labels stand in no order for a matrix product: subscripts and the sizes of their labels. */
const ROWS: readonly (readonly [subscripts: string, sizes: Readonly<Record<string, number>>])[] = [
  ['aibj,jcid->abcd', { a: 48, b: 48, c: 48, d: 48, i: 48, j: 48 }],
  ['abcd,dbea->ce', { a: 32, b: 16, c: 1024, d: 32, e: 1024 }],
  ['bihd,bjhd->bhij', { b: 16, h: 16, i: 512, j: 512, d: 64 }],
  ['abc,cbd->ad', { a: 2048, b: 64, c: 64, d: 2048 }],
  ['aib,jaib->j', { a: 64, i: 64, b: 64, j: 512 }],
  ['xyij,yjk->xik', { x: 64, y: 64, i: 64, j: 64, k: 64 }],
  ['abij,kjia->bk', { a: 8, b: 512, i: 8, j: 8, k: 512 }],
];

/** Microseconds of one of several in a row, the least of a few rounds. */
async function timeOf(build: () => Lazy): Promise<number> {
  const RUNS = 12;
  const ROUNDS = 4;
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round <= ROUNDS; round++) {
    const start = performance.now();
    const results = await Promise.all(Array.from({ length: RUNS }, () => build().persist({ device })));
    await Promise.all(results.slice(-1).map((x) => x.slice(...x.shape.map(() => 0)).compute()));
    const each = ((performance.now() - start) * 1000) / RUNS;
    for (const result of results) result.dispose();
    if (round > 0) least = Math.min(least, each);
  }
  return least;
}

async function time(
  subscripts: string,
  sizes: Readonly<Record<string, number>>,
  dtype: DType,
): Promise<void> {
  const [left, right] = subscripts.split('->')[0]!.split(',') as [string, string];
  const operand = (labels: string): Promise<Lazy> => {
    const shape = [...labels].map((label) => sizes[label]!);
    const length = shape.reduce((m, n) => m * n, 1);
    return linspace(-1, 1, length).reshape(shape).astype(dtype).persist({ device });
  };
  const [a, b] = [await operand(left), await operand(right)];
  const cells: string[] = [];
  for (const library of ['cutensor', 'cublas', undefined] as const)
    cells.push((await timeOf(() => einsum(subscripts, a, b, { library }))).toFixed(1).padStart(10));
  const { passes } = (await einsum(subscripts, a, b).explain({ device })).toJSON();
  const choice = passes.flatMap(({ choices }) => choices).at(-1);
  console.log(
    `${subscripts.padEnd(18)} ${dtype.padEnd(10)}${cells.join('')}  ${choice === undefined ? 'nothing to choose' : `${choice.library} ${choice.reason}`}`,
  );
  a.dispose();
  b.dispose();
}

if (values.times) {
  console.log('µs: by cuTENSOR, by cuBLAS with copies, as Weft chooses');
  for (const [subscripts, sizes] of ROWS)
    for (const dtype of ['float32', 'float16', 'float64'] as const) await time(subscripts, sizes, dtype);
}
process.exitCode = failures === 0 ? 0 : 1;
