/** Without cuTENSOR contractions work by cuBLAS, and explain() says how many bytes of copies it would spare. */
import { expect, it } from 'vitest';
import { cudaInfo } from '../../src/exec/native/native.js';
import { DeviceError } from '../../src/host/errors.js';
import { einsum, lazy } from '../../src/index.js';
import { largest, parts, stored } from '../support/epilogue-forms.js';
import { SIM_ENVIRONMENT } from './environment.js';
import { describeSimulator } from './simulator.js';
import { without } from './without.js';

// Loads what the copy needs, which is not beside it.
describeSimulator();
process.env.WEFT_CUTENSOR = without(SIM_ENVIRONMENT.WEFT_CUTENSOR, 'cutensorContract');

it('a cuTENSOR that lacks an entry point is passed over with the reason', () => {
  const { cutensor, tried } = cudaInfo();
  expect(cutensor).toBe(null);
  expect(tried.cutensor.join()).toContain('it has no cutensorContract');
});

it('a contraction is computed from copies, of which explain() says what cuTENSOR would spare', async () => {
  const [a, b] = [await stored([5, 3, 12, 4], 1, 'float64'), await stored([4, 3, 11, 5], 2, 'float64')];
  const built = einsum('abcd,dbea->ce', a, b);
  const text = String(await built.explain({ device: 'cuda' }));
  expect(text).toMatch(
    /cdae,edbc->ab by cuBLAS after copies of [\d.]+ KiB: cuTENSOR would spare [\d.]+ KiB of them and is not here/,
  );
  const wanted = await parts(built);
  const found = await parts(lazy(await built.compute({ device: 'cuda' })));
  expect(largest(found.map((value, k) => value - wanted[k]!))).toBeLessThan(1e-12);
});

it('a contraction that asks for cuTENSOR is refused', async () => {
  const a = await stored([20, 16], 1, 'float32');
  const computing = einsum('ij,kj->ik', a, a, { library: 'cutensor' }).compute({ device: 'cuda' });
  await expect(computing).rejects.toBeInstanceOf(DeviceError);
  await expect(computing).rejects.toThrow(
    /library 'cutensor', which the product 'ac,bc->ab' asks for: cuda:0 has 'cublas' and 'weft'.*weft doctor/s,
  );
});
