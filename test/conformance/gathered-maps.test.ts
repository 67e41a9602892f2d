/** Random programs of maps, gathers of them along any axis, and maps of these. */
import { describe, it } from 'vitest';
import { type DType, type Lazy, where } from '../../src/index.js';
import { toLazy } from '../support/api.js';
import { backends, isSimulated } from '../support/backends.js';
import { expectRandomPrograms, type Pick, type Step } from '../support/random-steps.js';

const indices = (pick: Pick, size: number, shape: readonly number[]): Lazy =>
  toLazy({
    dtype: 'int64' satisfies DType,
    shape,
    data: BigInt64Array.from({ length: shape.reduce((count, n) => count * n, 1) }, () =>
      BigInt(pick(2 * size) - size),
    ),
  });

/** An operand that broadcasts to a shape: of some axes, or of the last ones alone. */
function broadcastTo(shape: readonly number[], pick: Pick): readonly number[] {
  const some = shape.map((n) => (pick(3) === 0 ? 1 : n));
  return pick(3) === 0 ? some.slice(pick(shape.length + 1)) : some;
}

const STEPS: readonly Step[] = [
  (x) => x.mul(2).add(1),
  (x) => x.astype('float32').square().sub(3).astype('float64'),
  (x, pick, operand) => x.sub(operand(broadcastTo(x.shape, pick))),
  (x, pick, operand) => where(operand(broadcastTo(x.shape, pick)).greater(0), x, x.neg()),
  (x, pick) => x.sub(x.max(pick(x.ndim), { keepdims: true })),
  (x, pick) => {
    const axis = pick(x.ndim);
    const shape = pick(3) === 0 && x.ndim < 3 ? [1 + pick(3), 1 + pick(3)] : [1 + pick(8)];
    return x.take(indices(pick, x.shape[axis]!, shape), axis);
  },
  (x, pick) => {
    const axis = pick(x.ndim);
    const shape = x.shape.with(axis, 1 + pick(5));
    return x.takeAlongAxis(indices(pick, x.shape[axis]!, shape), axis);
  },
  (x, pick) => x.take(indices(pick, x.size, [2 + pick(5), 1 + pick(3)])),
  (x) => x.transpose(),
];

describe.each(backends())('random programs of gathers on %s', (device) => {
  const count = isSimulated(device) ? 25 : 200;
  it(
    `give what the reference gives, ${count} times`,
    () => expectRandomPrograms(device, STEPS, { count, axes: 3 }),
    60_000,
  );
});
