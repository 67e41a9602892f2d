/** Sums and extremes over windows of neighbours, written out, of any radius: beside those of plain loops. */
import { describe, expect, it } from 'vitest';
import { type DType, type Lazy, lazy, type NDArray } from '../../src/index.js';
import { backends, isSimulated } from '../support/backends.js';
import { allocate } from '../support/host.js';
import { generator, randomIntegers, randomValues } from '../support/random.js';
import { halfBits, halfValue } from '../support/scalar.js';

/** The window of each element: how far it reaches along each axis. */
const WINDOWS: readonly { readonly shape: readonly number[]; readonly reach: readonly number[] }[] = [
  { shape: [1003], reach: [8] },
  { shape: [1000], reach: [40] },
  { shape: [40, 68], reach: [2, 2] },
  { shape: [12, 64], reach: [0, 16] },
  { shape: [9, 11, 34], reach: [1, 1, 1] },
];

/** The places of a window, in order. */
const placesOf = (reach: readonly number[]): number[][] =>
  reach.reduce<number[][]>(
    (places, r) => places.flatMap((place) => Array.from({ length: 2 * r + 1 }, (_, k) => [...place, k])),
    [[]],
  );

const FIRST = 20_261_127;
const DTYPES: readonly DType[] = ['int8', 'bfloat16', 'float32', 'float64', 'uint8', 'int16', 'int64'];

/** A sum of neighbours along one of two axes, of small integers in an array that begins anywhere in its memory. */
interface RandomWindow {
  readonly sum: Lazy;
  readonly wanted: ArrayBufferView;
  readonly text: string;
}

function windowOf(seed: number): RandomWindow {
  const next = generator(seed);
  const below = (n: number): number => Math.floor(next() * n);
  const dtype = DTYPES[seed % DTYPES.length]!;
  const count = 2 + below(below(2) === 0 ? 140 : 16);
  const [inner, first, behind] = [[0, 1, 3, 250][below(8)] ?? 4 + 4 * below(60), below(6), below(4)];
  const length = first + inner + count - 1 + behind;
  const other = 1 + below(4);
  const axis = below(2);
  const [outer, stride] = axis === 0 ? [1, other] : [other, 1];
  const { data } = randomIntegers(dtype, [outer * length * stride + 3], seed, -1, 1);
  const begin = below(4);
  const own = data.subarray(begin, begin + outer * length * stride) as typeof data;
  const x = lazy(own, { dtype, shape: axis === 0 ? [length, other] : [other, length] }) as Lazy;
  const numberOf = (k: number): number =>
    dtype === 'bfloat16' ? halfValue(dtype, Number(own[k])) : Number(own[k]);
  const wanted = allocate(dtype, outer * inner * stride);
  for (let k = 0; k < wanted.length; k++) {
    const [o, i, s] = [Math.floor(k / stride / inner), Math.floor(k / stride) % inner, k % stride];
    let sum = 0;
    for (let n = 0; n < count; n++) sum += numberOf((o * length + first + i + n) * stride + s);
    if (wanted instanceof BigInt64Array || wanted instanceof BigUint64Array) wanted[k] = BigInt(sum);
    else wanted[k] = dtype === 'bfloat16' ? halfBits(dtype, sum) : sum;
  }
  const slices = Array.from({ length: count }, (_, n): Lazy => {
    const along: [number, number] = [first + n, first + n + inner];
    return axis === 0 ? x.slice(along) : x.slice(null, along);
  });
  const text = `seed ${seed}: ${count} of ${dtype} (${x.shape}) along ${axis}, ${inner} from ${first} on`;
  return { sum: slices.reduce((a, b) => a.add(b)), wanted, text };
}

const bytesOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);

describe.each(backends().filter((device) => device === 'cpu' || device.startsWith('cuda')))(
  'on %s',
  (device) => {
    it.each(WINDOWS.slice(0, isSimulated(device) ? 3 : undefined))(
      'of $reach in $shape',
      async ({ shape, reach }) => {
        const { data } = randomValues('float32', shape, 7);
        const x = lazy(data, { shape }) as Lazy;
        const inner = shape.map((n, k) => n - 2 * reach[k]!);
        const places = placesOf(reach);
        const slices = places.map((place) =>
          x.slice(...place.map((p, k): [number, number] => [p, p + inner[k]!])),
        );
        const sum = slices.reduce((a, b) => a.add(b));
        const largest = slices.reduce((a, b) => a.maximum(b));
        const values = data as Float32Array;
        const at = (index: readonly number[], place: readonly number[]): number =>
          values[index.reduce((linear, i, k) => linear * shape[k]! + i + place[k]!, 0)]!;
        const wanted = placesOf(inner.map((n) => (n - 1) / 2));
        const [sums, extremes] = [
          wanted.map((index) =>
            places.reduce(
              (a, place, k) => (k === 0 ? at(index, place) : Math.fround(a + at(index, place))),
              0,
            ),
          ),
          wanted.map((index) => Math.max(...places.map((place) => at(index, place)))),
        ];
        expect([...(await sum.compute({ device })).data]).toEqual(sums);
        expect([...(await largest.compute({ device })).data]).toEqual(extremes);
      },
    );

    it(`of any length, dtype and place, from seed ${FIRST}`, async () => {
      const differing: string[] = [];
      for (let seed = FIRST; seed < FIRST + (isSimulated(device) ? 5 : 60); seed++) {
        const { sum, wanted, text } = windowOf(seed);
        const { data } = await sum.compute({ device });
        if (!bytesOf(data).equals(bytesOf(wanted))) differing.push(text);
      }
      expect(differing).toEqual([]);
    });

    // Arrays and results in host memory count for no budget of the CPU.
    it.skipIf(device === 'cpu')(
      `within a budget and on two devices${device === 'cpu' ? ' (skipped: it counts no arrays of the host, and is one device)' : ''}`,
      async () => {
        const x = lazy(randomValues('float32', [20_011], 3).data) as Lazy;
        const sum = Array.from({ length: 12 }, (_, k) => x.slice([k + 1, k + 20_000])).reduce(
          (a, b) => a.add(b) as Lazy,
        );
        const bits = ({ data }: NDArray): Buffer => bytesOf(data);
        const whole = bits(await sum.compute({ device }));
        const memory = Math.ceil(sum.plan({ device }).peakBytes / 4);
        expect(bits(await sum.compute({ device, memory })).equals(whole)).toBe(true);
        if (isSimulated(device))
          expect(bits(await sum.compute({ devices: 2, memory })).equals(whole)).toBe(true);
      },
    );
  },
);
