/** Programs for `programs.ts` that take arrays apart and join them again. */
import { lorenz, rgbToHsv, rungeKutta } from '../../bench/joined-expressions.js';
import { concat, type Lazy, stack } from '../../src/index.js';
import { between, F32, integers, type Program, values } from './program.js';

export const JOIN_PROGRAMS: readonly Program[] = [
  {
    name: 'Runge–Kutta steps of stacked derivatives',
    tolerance: F32,
    build: () => {
      const state = values('float32', 3, 101);
      const next = rungeKutta(lorenz, state, 0.01);
      const sideBySide = rungeKutta((y) => lorenz(y.transpose()).transpose(), state.transpose(), 0.01);
      return [next, rungeKutta(lorenz, next, 0.02), sideBySide];
    },
  },
  {
    name: 'conversions of colours',
    tolerance: F32,
    build: () => [rgbToHsv(between('float32', 0, 1, 6, 11, 3)), rgbToHsv(between('float32', 0, 1, 8, 16, 3))],
  },
  {
    name: 'channels of bytes and integers that change places',
    build: () =>
      [integers('uint8', 7, 9, 3), integers('int16', 8, 8, 4), integers('uint8', 1, 3)].flatMap((image) => {
        const channels = [...Array(image.shape.at(-1)).keys()].map((k) => image.slice('...', k));
        const swapped = stack([...channels].reverse(), -1);
        return [
          swapped,
          stack(channels),
          swapped.slice('...', [1, null]).add(1),
          stack(channels.slice(1), -1),
        ];
      }),
  },
  {
    name: 'parts of joins of one size and of several, backwards, in steps and padded',
    build: () => {
      const [a, b] = [integers('int32', 4, 5), integers('int32', 4, 5)];
      const rows = concat([a.add(1), b.mul(2), a.neg()]);
      const columns = concat([a.slice(null, [0, 2]), b.add(3), a.slice(null, [4, 5])], 1);
      const parts = (x: Lazy): Lazy[] => [x.mul(2), x.flip(0), x.slice([1, null, 2]), x.pad(1).sum(0)];
      return [
        ...parts(rows),
        ...parts(columns),
        rows.mul(10).slice([4, 8]).add(b),
        rows.mul(10).slice([4, 12]),
        rows.slice([3, 9]).transpose().sub(1),
        columns.transpose().mul(columns.slice(null, [2, 7]).sum()),
        stack([a, b])
          .mul(integers('int32', 2, 1, 1))
          .slice(1, 2),
        stack([stack([a, b]), stack([b, a])], 1).add(1),
        concat([a, b]).max(1),
      ];
    },
  },
  {
    name: 'joins of halves, of an empty part and of rows of reductions',
    tolerance: 1e-3,
    build: () => {
      const x = values('float16', 6, 10);
      return [
        stack([x.exp(), x.mul(2)], 1).add(1),
        concat([x, x.slice([0, 0]), x.abs()]).sqrt(),
        stack([x.sum(1), x.max(1), x.mean(1)], -1),
      ];
    },
  },
];
