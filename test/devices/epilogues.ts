/**
 * Holds products with epilogues on a GPU beside float64, every form and dtype, and prints the errors; fails
 * where one is too large, where a call is not one, and where a NaN is lost.
 *
 *     node dist/test/devices/epilogues.js --device cuda
 *     node dist/test/devices/epilogues.js --simulated
 */
import { parseArgs } from 'node:util';
import type { DType, Lazy } from '../../src/index.js';
import { describeDevice } from './device-name.js';

const { values } = parseArgs({
  options: {
    device: { type: 'string', default: 'cuda' },
    simulated: { type: 'boolean', default: false },
  },
});
if (values.simulated) {
  const { SIM_ENVIRONMENT } = await import('../sim/environment.js');
  Object.assign(process.env, SIM_ENVIRONMENT);
}
const { lazy } = await import('../../src/index.js');
const { formsOf, largest, operandsOf, parts, ROUNDED, stored } = await import('../support/epilogue-forms.js');

const { device } = values;
const SIZES = values.simulated
  ? [{ m: 24, k: 20, n: 9 }]
  : [
      { m: 24, k: 20, n: 9 },
      { m: 768, k: 512, n: 256 },
      { m: 1002, k: 333, n: 517 },
    ];
/** The library's tanh and split sums may be so much less exact than a sum of our own in order. */
const SLACK = 8;

let failures = 0;
const report = (isRight: boolean, text: string): void => {
  if (!isRight) failures++;
  console.log(`${isRight ? 'ok  ' : 'FAIL'} ${text}`);
};

async function hold(dtype: DType, name: string, build: Lazy, wide: Lazy): Promise<void> {
  const isOne = String(await build.explain({ device })).includes('by cuBLASLt, one call');
  const found = await parts(lazy(await build.compute({ device })));
  const wanted = await parts(wide);
  const error = largest(found.map((value, k) => value - wanted[k]!)) / largest(wanted);
  const isRight = isOne && error <= SLACK * ROUNDED[dtype]!;
  report(
    isRight,
    `${dtype} ${build.shape.join('x')} ${name}: ${error.toExponential(2)}${isOne ? '' : ', no call'}`,
  );
}

console.log(`${describeDevice(device, values.simulated)}: largest error / largest value`);
for (const sizes of SIZES) {
  for (const dtype of Object.keys(ROUNDED) as DType[]) {
    const narrow = await operandsOf(dtype, sizes);
    const wideType = dtype.startsWith('complex') ? 'complex128' : 'float64';
    const wide = { ...narrow };
    for (const key of ['a', 'b', 'c', 'bias'] as const) wide[key] = narrow[key].astype(wideType);
    for (const [name, build] of formsOf(dtype)) await hold(dtype, name, build(narrow), build(wide));
  }
}
for (const dtype of ['float32', 'float16', 'bfloat16'] as const) {
  const { m, k, n } = SIZES.at(-1)!;
  const special = new Float64Array(m * k);
  special[0] = Number.NaN;
  special[k] = Number.POSITIVE_INFINITY;
  special[2 * k] = Number.NEGATIVE_INFINITY;
  const a = lazy(
    await lazy({ data: special, shape: [m, k] })
      .astype(dtype)
      .compute({ device: 'cpu' }),
  );
  const ones = lazy(await (await stored([k, n], 1, dtype)).mul(0).add(1).compute({ device: 'cpu' }));
  const y = await parts(lazy(await a.matmul(ones).relu().compute({ device })));
  const [nan, infinity, clipped] = [0, 1, 2].map((row) => y[2 * row * n]!);
  report(
    Number.isNaN(nan) && infinity === Number.POSITIVE_INFINITY && clipped === 0,
    `${dtype} relu of NaN, inf, -inf: ${nan}, ${infinity}, ${clipped}`,
  );
}
console.log(failures === 0 ? 'all right' : `${failures} wrong`);
process.exitCode = failures === 0 ? 0 : 1;
