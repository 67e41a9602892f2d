/**
 * Property: what is computed once for several slices of an array has the bits that it has for each of them alone. Random
 * functions of random slices, from a seed that each test prints.
 */
import { describe, expect, it } from 'vitest';
import { compute, concat, type Lazy, lazy, type NDArray, stack } from '../../src/index.js';
import { backends, isSimulated } from '../support/backends.js';
import { generator, randomValues } from '../support/random.js';

const FIRST = 20_261_126;
/** The simulated GPU compiles each kernel for a second. */
const runsOn = (device: string): number => (isSimulated(device) ? 4 : 60);

type Of = (x: Lazy) => Lazy;
const MAPS: readonly Of[] = [(x) => x, (x) => x.mul(1.5).sub(0.25), (x) => x.tanh().square(), (x) => x.exp()];
const REDUCTIONS: readonly ((x: Lazy, axis: number | undefined) => Lazy)[] = [
  (x, axis) => x.sum(axis),
  (x, axis) => x.mean(axis),
  (x, axis) => x.std(axis),
  (x, axis) => x.max(axis),
  (x, axis) => x.logsumexp(axis),
];
const SHAPES: readonly (readonly number[])[] = [
  [40, 30],
  [7, 1000],
  [1000, 7],
  [5000],
  [70_001],
  [131_072],
  [3, 5, 64],
  [300, 260],
  [1],
];

/** Functions of slices, for each slice. */
function programOf(seed: number): {
  readonly parts: Lazy[];
  readonly isJoined: boolean;
  readonly text: string;
} {
  const next = generator(seed);
  const below = (n: number): number => Math.floor(next() * n);
  const shape = SHAPES[below(SHAPES.length)]!;
  const dtype = (['float32', 'float32', 'float64', 'float16', 'int32'] as const)[below(5)]!;
  const count = 3 + below(4);
  const isChunked = below(2) === 0;
  // Chunks that overlap, or have others between them.
  const size = Math.max(1, shape[0]! + (isChunked ? below(4) - 1 : 0));
  const rest = shape.slice(1);
  const whole = isChunked ? [(count - 1) * size + shape[0]!, ...rest] : [count, ...shape];
  const values = randomValues(dtype, whole, seed);
  const x = lazy(values.data, { dtype, shape: whole }) as Lazy;
  const own = below(2) === 0 ? x : MAPS[below(MAPS.length)]!(x);
  const map = MAPS[below(MAPS.length)]!;
  const which = below(REDUCTIONS.length + 2);
  const axis = below(2) === 0 ? undefined : below(shape.length);
  const f: Of = (slice) => {
    const y = map(slice);
    if (which === REDUCTIONS.length) return y;
    if (which > REDUCTIONS.length) return y.softmax(shape.length - 1);
    return REDUCTIONS[which]!(y, axis);
  };
  const parts = Array.from({ length: count }, (_, k) =>
    f(isChunked ? own.slice([k * size, k * size + shape[0]!]) : own.slice(k)),
  );
  return {
    parts,
    isJoined: below(2) === 0,
    text: `${dtype} (${whole}) as ${count} of (${shape}), ${which} ${axis}`,
  };
}

const bytesOf = ({ data: { buffer, byteOffset, byteLength } }: NDArray): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);

/** The interpreters compute each slice as it is written. */
const compiled = backends().filter((device) => device === 'cpu' || device.startsWith('cuda'));
describe.each(compiled)('on %s', (device) => {
  it(`slices computed together are as alone, from seed ${FIRST}`, async () => {
    const differing: string[] = [];
    for (let seed = FIRST; seed < FIRST + runsOn(device); seed++) {
      const { parts, isJoined, text } = programOf(seed);
      const alone: Buffer[] = [];
      for (const part of parts) alone.push(bytesOf(await part.compute({ device })));
      const together = isJoined
        ? await compute([parts[0]!.shape.length === 0 ? stack(parts) : concat(parts)], { device })
        : await compute(parts, { device });
      if (!Buffer.concat(together.map(bytesOf)).equals(Buffer.concat(alone)))
        differing.push(`seed ${seed}: ${text}`);
    }
    expect(differing).toEqual([]);
  }, 600_000);

  it('sums of slots are combined by as many threads as of one slice', async () => {
    const x = lazy(randomValues('float32', [5, 131_072], 3).data, { shape: [5, 131_072] }) as Lazy;
    const sums = Array.from({ length: 5 }, (_, k) => x.slice(k).mean());
    const alone: Buffer[] = [];
    for (const sum of sums) alone.push(bytesOf(await sum.compute({ device })));
    expect(bytesOf(await stack(sums).compute({ device })).equals(Buffer.concat(alone))).toBe(true);
  });
});
