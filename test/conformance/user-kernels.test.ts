/** Kernels of users' own, written as functions: on the CPU, and as CUDA C on GPUs. */
import { describe, expect, it } from 'vitest';
import type { KernelBody } from '../../src/api/kernel-functions.js';
import { kernel, lazy, plan } from '../../src/index.js';
import { backends } from '../support/backends.js';
import * as kernels from '../support/kernels.js';

const numbers = (n: number, of: (k: number) => number): Float32Array =>
  Float32Array.from({ length: n }, (_, k) => of(k));

const devices = backends().filter((name) => name === 'cpu' || name.startsWith('cuda'));

describe.each(devices)('kernels written as functions on %s', (device) => {
  it("add to elements of one axis and of two, as Numba's guide does", async () => {
    for (const dtype of device === 'cpu'
      ? (['float32', 'int32', 'complex64'] as const)
      : (['float16'] as const)) {
      const y = await kernels.increment(lazy([1, 2, 3]).astype(dtype)).compute({ device });
      const one = (re: number) => (dtype === 'complex64' ? { re, im: 0 } : re);
      expect([y.dtype, y.toArray()]).toEqual([dtype, [2, 3, 4].map(one)]);
    }
    const x = lazy(
      BigInt64Array.from({ length: 30 * 7 }, (_, k) => BigInt(k)),
      { shape: [30, 7] },
    );
    expect(await kernels.increment2(x).compute({ device })).toEqual(await x.add(1n).compute({ device }));
  });

  it('multiply matrices by tiles in shared memory', async () => {
    const [m, n, k] = [19, 13, 21];
    const a = lazy(
      numbers(m * k, (i) => (i % 7) - 3),
      { shape: [m, k] },
    );
    const b = lazy(
      numbers(k * n, (i) => (i % 5) - 2),
      { shape: [k, n] },
    );
    const own = await kernels.tiledProduct(a, b).compute({ device });
    expect(own.data).toEqual((await a.matmul(b).compute({ device })).data);
  });

  it('count by atomic operations', async () => {
    const x = Uint8Array.from({ length: 5000 }, (_, k) => (k * k) % 251);
    const wanted = new Uint32Array(256);
    for (const value of x) wanted[value]!++;
    expect((await kernels.histogram(x).compute({ device })).data).toEqual(wanted);
  });

  it('add forces of bodies, a tile at a time, by functions inside and local arrays', async () => {
    const n = 100;
    const bodies = numbers(n * 4, (k) => (k % 4 === 3 ? 1 : Math.sin(k)));
    const force = await kernels.forces(lazy(bodies, { shape: [n, 4] })).compute({ device });
    for (const i of [0, 57, 99]) {
      const sum = [0, 0, 0];
      for (let k = 0; k < n; k++) {
        const d = [0, 1, 2].map((axis) => bodies[4 * k + axis]! - bodies[4 * i + axis]!);
        const r2 = d.reduce((s, x) => s + x * x, 0.01);
        for (const axis of [0, 1, 2]) sum[axis]! += d[axis]! / r2 ** 1.5;
      }
      for (const axis of [0, 1, 2]) expect(Number(force.data[3 * i + axis])).toBeCloseTo(sum[axis]!, 2);
    }
  });

  it('run in parts where they say how, with the same bits', async () => {
    const [rows, columns] = [64, 33];
    const cells = Uint8Array.from({ length: rows * columns }, (_, k) =>
      (k * 7 + (k >> 3)) % 3 === 0 ? 1 : 0,
    );
    const next = kernels.life(lazy(cells, { shape: [rows, columns] }));
    const whole = await next.compute({ device });
    const alive = (r: number, c: number): number =>
      cells[((r + rows) % rows) * columns + ((c + columns) % columns)]!;
    const wanted = cells.map((own, at) => {
      const [r, c] = [Math.floor(at / columns), at % columns];
      let n = -own;
      for (const i of [-1, 0, 1]) for (const k of [-1, 0, 1]) n += alive(r + i, c + k);
      return n === 3 || (own === 1 && n === 2) ? 1 : 0;
    });
    expect([...(whole.data as Uint8Array)]).toEqual([...wanted]);
    const memory = 3600;
    expect(plan([next], { device, memory }).peakBytes).toBeLessThanOrEqual(memory);
    expect((await next.compute({ device, memory })).data).toEqual(whole.data);
  });

  it('reduce in shared memory, with atomic operations of every dtype, and several outputs', async () => {
    const dtypes = ['float32', 'float64', 'int32', 'int64'] as const;
    // Each is compiled by itself.
    for (const dtype of device === 'cpu' ? dtypes : dtypes.slice(1, 2)) {
      const { sums, largest, least } = kernels.blockSums(
        lazy(numbers(300, (k) => ((k * 37) % 101) - 50)).astype(dtype),
      );
      const all = [sums.sum(), largest, least].map((x) => x.astype('float64').compute({ device }));
      const wanted = numbers(300, (k) => ((k * 37) % 101) - 50);
      const [sum, most, fewest] = (await Promise.all(all)).map((x) => Number(x.item()));
      expect([sum, most, fewest]).toEqual([
        wanted.reduce((a, b) => a + b),
        Math.max(...wanted),
        Math.min(...wanted),
      ]);
    }
  });

  it('leave loops and functions at different times', async () => {
    const cx = Float64Array.from({ length: 200 }, (_, k) => -2 + k / 80);
    const count = await kernels
      .escapes(
        cx,
        cx.map((x) => x / 3),
      )
      .compute({ device });
    const wanted = [...cx].map((re) => {
      let [x, y] = [0, 0];
      for (let k = 0; k < 50; k++) {
        [x, y] = [x * x - y * y + re, 2 * x * y + re / 3];
        if (x * x + y * y > 4) return k;
      }
      return 50;
    });
    expect([...(count.data as Int32Array)]).toEqual(wanted);
  });

  it('take empty arrays, and launch nothing', async () => {
    const y = await kernels.increment(lazy(new Float32Array(0))).compute({ device });
    expect(y.shape).toEqual([0]);
  });

  it('enter cases of a switch, fall through to later ones, and go through local arrays', async () => {
    const text = `({ threadIdx }, x, y) => {
      let found = 0;
      for (const each of [3, 1, x[threadIdx.x], 4]) {
        if (each === 1) continue;
        switch (each + (threadIdx.x % 3)) {
          case 2:
            found += 10;
          case 3:
            found += 1;
            break;
          default:
            found += 100;
          case 0:
            if (threadIdx.x > 20) break;
            found += 1000;
        }
        if (found > 1000 && each === 2) break;
      }
      y[threadIdx.x] = found;
    }`;
    const fn = new Function(`return ${text}`)() as KernelBody & ((...args: unknown[]) => void);
    const x = Int32Array.from({ length: 40 }, (_, k) => k % 5);
    const found = await kernel(fn, {
      inputs: { x: 'int32' },
      outputs: { y: { dtype: 'int32', shape: 40 } },
      grid: 1,
      block: 40,
    })(lazy(x)).compute({ device });
    const wanted = new Int32Array(40);
    for (let k = 0; k < 40; k++) fn({ threadIdx: { x: k } }, x, wanted);
    expect(found.data).toEqual(wanted);
  });

  it('are read again with wider variables where an assignment needs it', async () => {
    const mean = kernel(
      ({ threadIdx }, x, y) => {
        let sum = 0;
        let seen = false;
        for (let k = 0; k < 4; k++) {
          sum += x[k]!;
          seen ||= x[k]! > 2 && k > 1;
        }
        if (threadIdx.x === 0) y[0] = seen ? sum / 4 : -1;
      },
      {
        inputs: { x: 'float32' },
        outputs: { y: { dtype: 'float32', shape: 1 } },
        grid: 1,
        block: 3,
      },
    );
    expect((await mean([0.5, 1, 2, 3]).compute({ device })).toArray()).toEqual([1.625]);
  });
});
