/**
 * Random functions of scalars, drawn from a printed seed, against JavaScript itself on every backend.
 * `WEFT_FUNCTIONS` says how many on each backend (`npm run test:functions` takes 3,000),
 * `WEFT_FUNCTIONS_SEED` which.
 */
import { describe, expect, it } from 'vitest';
import { elementwise, lazy } from '../../src/index.js';
import { run } from '../support/api.js';
import { backends } from '../support/backends.js';
import { toScalars } from '../support/host.js';
import { generator } from '../support/random.js';
import { type Operations, randomFunction } from '../support/random-functions.js';

const COUNT = process.env.WEFT_FUNCTIONS;
/** Functions that run at a time. */
const TOGETHER = 16;
const SEED = Number(process.env.WEFT_FUNCTIONS_SEED ?? 20261126);

type Ternary = (x: number, y: number, zero: number) => number;
const evaluated = (text: string): Ternary => new Function('F', `return ${text}`)(Math.fround) as Ternary;

/** Ordinary values and special ones. */
function values(seed: number, isWhole: boolean): Float64Array {
  const next = generator(seed);
  const special = isWhole ? [0, 1, -1] : [0, -0, 1, -1, 0.5, Infinity, -Infinity, NaN, 2 ** 40];
  return Float64Array.from({ length: 70 }, (_, k) => {
    if (k % 7 === 0) return special[Math.floor(next() * special.length)]!;
    return isWhole ? Math.floor(next() * 41) - 20 : Math.round((next() - 0.5) * 2 ** 20) / 2 ** 17;
  });
}

/** The difference from JavaScript; undefined: none. */
async function differenceOf(device: string, seed: number, kind: Operations): Promise<string | undefined> {
  const isSingle = kind === 'singles';
  const { text, rounded } = randomFunction(seed, kind, true, device.startsWith('cuda'));
  const plain = evaluated(isSingle ? rounded : text);
  const arrays = [
    values(seed, kind === 'integers'),
    values(seed + 1, kind === 'integers'),
    new Float64Array(70),
  ];
  const given = isSingle ? arrays.map((x) => Float32Array.from(x)) : arrays;
  const f = elementwise(evaluated(text));
  const [x, y, zero] = given as [Float64Array, Float64Array, Float64Array];
  const [result] = await run(device, [f(lazy(x), lazy(y), lazy(zero))]);
  const found = toScalars(result!).map(Number);
  const wanted = Array.from(x, (value, k) => Number(plain(value, y[k]!, 0)));
  const at = wanted.findIndex(
    (value, k) => !(value === found[k] || (Number.isNaN(value) && Number.isNaN(found[k]!))),
  );
  if (at < 0) return undefined;
  return `seed ${seed}, ${kind}: f(${x[at]}, ${y[at]}) is ${found[at]}, not ${wanted[at]}\n${text}`;
}

describe.each(backends())('random functions on %s', (device) => {
  const kinds: readonly Operations[] = ['floats', 'singles', 'words', 'integers'];
  const count = Math.ceil(Number(COUNT ?? (device === 'cpu' ? 300 : 12)) / kinds.length);

  it.each(kinds)(
    `${count} of %s have the values of JavaScript, from seed ${SEED}`,
    async (kind) => {
      const seeds = Array.from({ length: count }, (_, k) => SEED + 2 * k);
      for (let k = 0; k < count; k += TOGETHER) {
        const some = seeds.slice(k, k + TOGETHER);
        const differences = await Promise.all(some.map((seed) => differenceOf(device, seed, kind)));
        expect(differences.filter((each) => each !== undefined)).toEqual([]);
      }
    },
    3_600_000,
  );
});
