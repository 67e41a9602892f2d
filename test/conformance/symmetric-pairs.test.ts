/**
 * Kernel matrices K(x, x) of symmetric formulas have the bits of K(x, y) for an equal array y, of which all is computed:
 * in one go and within budgets.
 */
import { describe, expect, it } from 'vitest';
import { type Lazy, lazy, type NDArray } from '../../src/index.js';
import { backends, isSimulated } from '../support/backends.js';
import { randomValues } from '../support/random.js';

type Formula = (a: Lazy, b: Lazy) => Lazy;
const FORMULAS: Readonly<Record<string, Formula>> = {
  'squared distances': (a, b) => a.sub(b).square().sum(-1),
  'a Gaussian kernel': (a, b) => a.sub(b).square().sum(-1).mul(-0.1).exp(),
  'absolute distances': (a, b) => a.sub(b).abs().sum(-1),
  'largest distances': (a, b) => a.sub(b).abs().max(-1),
  'means of roots of products': (a, b) => a.mul(b).abs().sqrt().mean(-1),
};
/** Rows and elements of each: whole tiles and a part of one, and few tiles, whose elements are cut into slots. */
const SIZES: readonly (readonly [number, number])[] = [
  [530, 17],
  [100, 600],
];

const pairs = (f: Formula, x: Lazy, y: Lazy): Lazy => {
  const [rows, length] = x.shape as [number, number];
  return f(x.reshape([rows, 1, length]), y.reshape([1, rows, length]));
};
const bytesOf = ({ data: { buffer, byteOffset, byteLength } }: NDArray): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);

/** The simulated GPU takes a second for each kernel. */
const formulasOn = (device: string): [string, Formula][] =>
  Object.entries(FORMULAS).slice(0, isSimulated(device) ? 2 : undefined);

describe.each(backends().filter((device) => device === 'cpu' || device.startsWith('cuda')))(
  'on %s',
  (device) => {
    it.each(formulasOn(device))('%s', async (_, f) => {
      for (const [rows, length] of SIZES) {
        const values = randomValues('float32', [rows, length], rows);
        const array = (): Lazy => lazy(values.data.slice(), { shape: [rows, length] }) as Lazy;
        const x = array();
        const own = await pairs(f, x, x).compute({ device });
        const whole = await pairs(f, x, array()).compute({ device });
        expect(bytesOf(own).equals(bytesOf(whole))).toBe(true);
      }
    });

    it.skipIf(device !== 'cpu')('half of a Gaussian kernel, of which explain() tells', () => {
      const [rows, length] = SIZES[0]!;
      const array = (): Lazy =>
        lazy(randomValues('float64', [rows, length], rows).data, { shape: [rows, length] }) as Lazy;
      const x = array();
      const schedules = [x, array()].map((y) => {
        const [step, ...others] = pairs(FORMULAS['a Gaussian kernel']!, x, y).explain({ device }).steps;
        expect(others).toEqual([]);
        return step!.schedule;
      });
      expect(schedules).toEqual(['squares of 128² on and above the diagonal', undefined]);
    });

    // Arrays and results in host memory count for no budget of the CPU.
    it.skipIf(device === 'cpu')(
      `within a budget${device === 'cpu' ? ' (skipped: its budgets count no arrays of the host)' : ''}`,
      async () => {
        const [rows, length] = SIZES[0]!;
        const x = lazy(randomValues('float32', [rows, length], 1).data, { shape: [rows, length] }) as Lazy;
        const own = pairs(FORMULAS['squared distances']!, x, x);
        const whole = await own.compute({ device });
        const small = await own.compute({ device, memory: Math.ceil(own.plan({ device }).peakBytes / 3) });
        expect(bytesOf(small).equals(bytesOf(whole))).toBe(true);
      },
    );
  },
);
