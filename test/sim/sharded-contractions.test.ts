/**
 * Long contractions with small results on several devices: each takes some of the axis that is summed, with
 * the same bits for any number of them.
 */
import { expect, it, onTestFinished } from 'vitest';
import { storedLazy } from '../../src/api/compute.js';
import { CUDA_PRODUCTS } from '../../src/exec/calls/products/cuda-products.js';
import type { DeviceBuffer } from '../../src/graph/expr.js';
import { einsum, type Lazy, lazy, type NDArray, plan } from '../../src/index.js';
import { describeSimulator, setDevices, setFaults } from './simulator.js';

setDevices([{ memory: 2 ** 26 }, { memory: 2 ** 26 }, { memory: 2 ** 25 }]);

const K = 2 ** 14;
const tall = (columns: number): Lazy =>
  lazy(Float32Array.from({ length: K * columns }, (_, k) => Math.sin(k))).reshape([K, columns]);
const bytesOf = ({ data }: NDArray): Buffer => Buffer.from(data.buffer, data.byteOffset, data.byteLength);
const kindsOf = (x: Lazy, options: { devices: number; exact?: boolean }): string[] =>
  plan([x], options).phases.map(({ kind, devices }) => `${kind} ${devices.length}`);

const x = tall(33);
const gram = x.transpose().matmul(x);

it('a product of tall matrices is shared along the axis that is summed', async () => {
  expect(kindsOf(gram, { devices: 2 })).toEqual(['sharded 2', 'whole 1']);
  expect(kindsOf(gram, { devices: 2, exact: true })).toEqual(['whole 1']);
  const one = await gram.compute({ device: 'cuda:0' });
  const two = await gram.compute({ devices: 2 });
  expect(two.shape).toEqual(one.shape);
  // Sums of 16384 products below 1, in another order.
  for (const [k, value] of (one.data as Float32Array).entries())
    expect(Math.abs(Number(two.data[k]) - value)).toBeLessThan(0.1);
  expect(bytesOf(await gram.compute({ devices: 3 }))).toEqual(bytesOf(two));
  expect(bytesOf(await gram.compute({ devices: ['cuda:2', 'cuda:0'], memory: 2 ** 21 }))).toEqual(
    bytesOf(two),
  );
}, 60_000);

it('a product that one device does in a kernel of its own is one on several, with the same bits', async () => {
  // A library would have to be given copies of what is computed.
  const y = tall(16).div(tall(16).abs().sum(1, { keepdims: true }).add(1));
  const products = y.transpose().matmul(y);
  const explained = `${products.explain({ device: 'cuda:0' })}`;
  expect(explained).not.toContain('matmul');
  const wanted = bytesOf(await products.compute({ device: 'cuda:0' }));
  for (const options of [
    { devices: 2 },
    { devices: 3 },
    { devices: ['cuda:2', 'cuda:0'], memory: 2 ** 20 },
  ]) {
    expect(plan([products], options).phases.some(({ kind }) => kind === 'sharded')).toBe(true);
    expect(bytesOf(await products.compute(options))).toEqual(wanted);
  }
}, 60_000);

it('attention is shared by its batches, which its result has first', async () => {
  // Of so small products copies take less time than calls.
  const costs = CUDA_PRODUCTS.calls! as { copySeconds: number };
  const { copySeconds } = costs;
  costs.copySeconds = 1;
  onTestFinished(() => {
    costs.copySeconds = copySeconds;
  });
  const [b, h] = [3, 50];
  const of = (rows: number): Lazy =>
    lazy(Float32Array.from({ length: b * rows * h * 256 }, (_, k) => Math.sin(k))).reshape([b, rows, h, 256]);
  const scores = einsum('bqhd,bkhd->bhqk', of(64), of(60), { library: 'cublas' });
  const wanted = bytesOf(await scores.compute({ device: 'cuda:0' }));
  expect(kindsOf(scores, { devices: 2 })).toEqual(['sharded 2']);
  expect(bytesOf(await scores.compute({ devices: 2 }))).toEqual(wanted);
}, 60_000);

it('shards are used where they lie', async () => {
  using held = await x.persist({ devices: 2 });
  const own = held.transpose().matmul(held);
  const wanted = bytesOf(await gram.compute({ devices: 2 }));
  setFaults([]);
  expect(bytesOf(await own.compute())).toEqual(wanted);
  // Partial products, and nothing of the array.
  expect(describeSimulator().counts.cuMemcpyPeerAsync).toBe(1);
}, 60_000);

it('a product with a large result, or of a length without parts, is not', () => {
  expect(kindsOf(x.matmul(x.slice([0, 33])), { devices: 2 })).toEqual(['sharded 2']);
  const odd = lazy(new Float32Array(16_411 * 65)).reshape([16_411, 65]); // a prime
  expect(kindsOf(odd.transpose().matmul(odd), { devices: 2 }).at(-1)).toBe('whole 1');
});

it('a product of shards takes its right factor from all devices at once, and is not cut into tiles', () => {
  // Plans read no elements.
  const part = (device: string, byteLength: number): DeviceBuffer => ({
    device,
    byteLength,
    disposed: false,
    share: () => part(device, byteLength),
    dispose: () => undefined,
  });
  const sharded = (rows: number, columns: number): Lazy => {
    const half = rows * columns * 2;
    const shards = [part('cuda:0', half), part('cuda:1', half)].map((buffer, k) => ({
      buffer,
      first: k * half,
    }));
    const buffer = { ...part('cuda:0,cuda:1', 2 * half), shards };
    return storedLazy({ buffer, dtype: 'float32', shape: [rows, columns] });
  };
  const product = sharded(4096, 8192).matmul(sharded(8192, 4096));
  expect(`${product.explain({ devices: 2, memory: 2 ** 30 })}`).toContain(
    'phase 0: matmul, sharded to cuda:0, cuda:1\n',
  );
});
