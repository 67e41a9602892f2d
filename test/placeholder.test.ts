/** Plans of jobs whose data is not there. */
import { describe, expect, it } from 'vitest';
import {
  ArgumentError,
  compile,
  explain,
  iterate,
  type Lazy,
  lazy,
  placeholder,
  plan,
} from '../src/index.js';

const device = 'cpu';
const TIB = 2 ** 40;

const standardized = (x: Lazy): Lazy => x.sub(x.mean(0)).div(x.std(0)).tanh().sum(1);

describe('a placeholder', () => {
  it('has a shape and a dtype', () => {
    const x = placeholder([3, 4], 'float32');
    expect([x.shape, x.dtype, x.device, String(x)]).toEqual([
      [3, 4],
      'float32',
      undefined,
      'Lazy float32 (3, 4)',
    ]);
    expect(placeholder(5).dtype).toBe('float64');
    expect(placeholder([], { dtype: 'complex64' }, { device }).device).toBe('cpu');
  });

  it.each([undefined, '300KiB'])('plans and explains as an array of its shape, within %s', (memory) => {
    const [some, none] = [
      lazy(new Float32Array(2 ** 18), { shape: [2 ** 12, 64] }),
      placeholder([2 ** 12, 64], 'float32'),
    ];
    const text = (x: Lazy): string => String(standardized(x).explain({ device, memory }));
    expect(text(none)).toBe(text(some));
    const { toString: _, ...summary } = standardized(none).plan({ device, memory });
    expect(standardized(some).plan({ device, memory })).toMatchObject(summary);
  });

  it('plans jobs that no machine could hold', () => {
    const x = placeholder([2 ** 28, 1024], 'float32');
    const w = placeholder([1024, 1024], 'float32');
    const { peakBytes, sweeps } = x.matmul(w).tanh().sum(1).plan({ device, memory: '64GiB' });
    expect(x.size * 4).toBe(TIB);
    expect(peakBytes).toBeLessThanOrEqual(64 * 2 ** 30);
    expect(sweeps.length).toBeGreaterThan(0);
    expect(explain([x.sum(), x.max()], { device }).bytesRead).toBe(TIB);
  });

  it('is two arrays where it is two', () => {
    const [x, y] = [placeholder(1000), placeholder(1000)];
    expect(x.add(y).explain({ device }).bytesRead).toBe(16_000);
    expect(x.add(x).explain({ device }).bytesRead).toBe(8_000);
  });

  it('is an argument of a compiled function that is planned, and then called with data', async () => {
    const f = compile((x: Lazy, y: Lazy) => x.mul(y).sum(), { device });
    const [x, y] = [placeholder(4, 'float32'), placeholder(4, 'float32')];
    expect(f.plan(x, y).device).toBe('cpu');
    expect(f.explain(x, y).bytesRead).toBe(32);
    expect((await f(new Float32Array([1, 2, 3, 4]), new Float32Array(4).fill(2))).item()).toBe(20);
    await expect(f(x, new Float32Array(4))).rejects.toThrow(/a placeholder, float32 \(4,\)/);
  });

  it('may stand for an array that is on a device', async () => {
    const x = placeholder([1000], 'float32', { device });
    expect(x.add(1).explain().deviceReason).toBe('an input is stored there');
    await expect(x.add(1).compute()).rejects.toThrow(ArgumentError);
    const f = compile((a: Lazy) => a.add(1));
    await expect(f(x)).rejects.toThrow(/a placeholder, float32 \(1000,\)/);
    expect(() => x.add(1).plan({ device: 'cuda:7' })).toThrow(/cuda:7/);
  });

  it('refuses to be computed, and says where it was made', async () => {
    const made =
      /\[compute\] expected arrays with elements: a placeholder, float64 \(3, 4\), made at .*placeholder\.test\.ts:\d+/;
    const x = placeholder([3, 4]);
    const jobs: (() => Promise<unknown>)[] = [
      () => x.compute(),
      () => x.add(1).compute({ device }),
      () => x.sum().persist({ device }),
      () => iterate(3, lazy([0, 0, 0, 0]), (y) => y.add(x.sum(0))).compute({ device }),
    ];
    for (const job of jobs) await expect(job()).rejects.toThrow(made);
    await expect(x.compute({ device })).rejects.toThrow(ArgumentError);
  });

  it('refuses what is no shape, dtype or device', () => {
    expect(() => placeholder([-1])).toThrow('[placeholder]');
    expect(() => placeholder([1], 'float31' as never)).toThrow('[placeholder]');
    expect(() => placeholder([1], 'float32', { device: 'tpu' })).toThrow("'tpu'");
    expect(() => placeholder([1], 'float32', { on: 'cpu' } as never)).toThrow('option on');
    expect(plan([placeholder([0, 5])], { device }).peakBytes).toBe(0);
  });
});
