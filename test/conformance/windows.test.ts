/** Sums and extremes over windows of neighbours, written out, of any radius: beside those of plain loops. */
import { describe, expect, it } from 'vitest';
import { type Lazy, lazy } from '../../src/index.js';
import { backends, isSimulated } from '../support/backends.js';
import { randomValues } from '../support/random.js';

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
  },
);
