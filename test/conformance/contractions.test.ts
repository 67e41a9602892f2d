/**
 * Random einsums of up to six operands and eight labels on every backend: against a sum over all indices, and
 * those of a fixture against NumPy (`scripts/make-contraction-fixtures.py`).
 *
 * WEFT_CONTRACTIONS sets how many are drawn, WEFT_CONTRACTIONS_SEED which.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { cudaInfo } from '../../src/exec/native/native.js';
import { type DType, isComplex, isInteger, type Scalar } from '../../src/graph/dtype.js';
import { einsum, type ProductLibrary } from '../../src/index.js';
import { failuresOf, type Prepared, toLazy } from '../support/api.js';
import { backends, isSimulated, runsOthers, whyNotOthers } from '../support/backends.js';
import { fromScalars, type HostArray } from '../support/host.js';
import { preparedContraction, randomContraction, textOf } from '../support/random-contractions.js';

interface Entry {
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly data: readonly (number | readonly [number, number])[];
}

const fixtures = JSON.parse(
  readFileSync(new URL('../fixtures/contractions.json', import.meta.url), 'utf8'),
) as readonly { readonly subscripts: string; readonly operands: readonly Entry[]; readonly result: Entry }[];

function arrayOf({ dtype, shape, data }: Entry): HostArray {
  const scalar = (value: Entry['data'][number]): Scalar => {
    if (typeof value !== 'number') return { re: value[0], im: value[1] };
    if (isComplex(dtype)) return { re: value, im: 0 };
    return dtype === 'bool' ? value !== 0 : isInteger(dtype) ? BigInt(value) : value;
  };
  return fromScalars(dtype, [...shape], data.map(scalar));
}

const fixture = ({ subscripts, operands, result }: (typeof fixtures)[number]): Prepared => ({
  label: `${subscripts} of ${operands.map(({ dtype, shape }) => `${dtype} [${shape}]`).join(', ')}`,
  build: () => einsum(subscripts, ...operands.map((operand) => toLazy(arrayOf(operand)))),
  check: (actual) => {
    const [received, wanted] = [textOf(actual), textOf(arrayOf(result))];
    return received === wanted ? undefined : `${received}, not ${wanted}`;
  },
});

const given = (name: string): number | undefined =>
  process.env[name] === undefined ? undefined : Number(process.env[name]);
/** The libraries of GPUs that are here. */
const librariesOf = (device: string): ProductLibrary[] =>
  device.startsWith('cuda') && cudaInfo().cutensor !== null ? ['cutensor', 'cublas'] : [];
/** Contractions that are computed together. */
const TOGETHER = 25;

describe.each(backends())('random contractions on %s', (device) => {
  const count = given('WEFT_CONTRACTIONS') ?? (isSimulated(device) ? 25 : 300);
  const first = given('WEFT_CONTRACTIONS_SEED') ?? 20_261_125;

  it.each([undefined, ...librariesOf(device)])(
    `give the sum over all indices, ${count} from seed ${first}, by %s`,
    async (library) => {
      const failures: string[] = [];
      for (let seed = first; seed < first + count; seed += TOGETHER) {
        const seeds = Array.from({ length: Math.min(TOGETHER, first + count - seed) }, (_, k) => seed + k);
        const cases = seeds.map((each) => preparedContraction(each, library));
        failures.push(...(await failuresOf(device, cases)));
      }
      expect(failures).toEqual([]);
    },
    600_000,
  );

  it('give what NumPy gives', async () => {
    const cases = fixtures.slice(0, isSimulated(device) ? 20 : fixtures.length);
    expect(await failuresOf(device, cases.map(fixture))).toEqual([]);
  });
});

it.runIf(runsOthers)(
  `random contractions have every dtype, and everything that subscripts may say${whyNotOthers}`,
  () => {
    const drawn = Array.from({ length: 300 }, (_, k) => randomContraction(k));
    const dtypes = new Set(drawn.flatMap(({ operands }) => operands.map(({ dtype }) => dtype)));
    expect(dtypes.size).toBe(15);
    const has = (what: (drawn: ReturnType<typeof randomContraction>) => boolean): number =>
      drawn.filter(what).length;
    const repeats = has(({ inputs }) => inputs.some((list) => new Set(list).size < list.length));
    const broadcasts = has(({ operands, inputs, sizes }) =>
      operands.some(({ shape }, k) => shape.some((n, axis) => n === 1 && sizes[inputs[k]![axis]!]! > 1)),
    );
    const empty = has(({ operands }) => operands.some(({ shape }) => shape.includes(0)));
    const many = has(({ operands }) => operands.length > 3);
    const lists = has(({ inLists }) => inLists);
    const implicit = has(({ isImplicit }) => isImplicit);
    const flipped = has(({ steps }) => steps.flat().some((step) => step < 0));
    const strided = has(({ steps }) => steps.flat().some((step) => Math.abs(step) > 1));
    const turned = has(({ orders }) => orders.some((order) => order.some((axis, k) => axis !== k)));
    const forLibraries = has(({ operands: { length }, sizes }) => length === 2 && Math.max(...sizes) >= 9);
    const kinds = [repeats, broadcasts, empty, many, lists, implicit, flipped, strided, turned, forLibraries];
    expect(Math.min(...kinds)).toBeGreaterThan(20);
    expect(new Set(drawn.map(({ precision }) => precision)).size).toBe(4);
  },
);
