/**
 * Slices below reductions, products and permutes: values along every axis, and that only what is needed is
 * computed.
 */
import { describe, expect, it } from 'vitest';
import { einsum, type Lazy, lazy, type NDArray } from '../../src/index.js';

const SHAPE = [3, 4, 5, 6] as const;
const x = lazy(
  Float64Array.from({ length: 360 }, (_, k) => (k * 7) % 11),
  { shape: [...SHAPE] },
);
const device = 'cpu';

/** Slices of a result along one of its axes, and of all axes at once. */
function* slicesOf(y: Lazy): Generator<(whole: Lazy) => Lazy> {
  const { shape } = y;
  for (const [axis, size] of shape.entries())
    for (const range of [
      [1, size - 1],
      [null, null, -2],
    ] as const)
      yield (whole) => whole.slice(...Array<string>(axis).fill(':'), range);
  yield (whole) => whole.slice(...shape.map((size, axis) => [axis % 2, size - 1] as const));
}

async function expectSlices(y: Lazy): Promise<void> {
  // Its elements are there already: nothing is pushed through what made them.
  const whole = lazy(await y.compute({ device }));
  for (const slice of slicesOf(y)) {
    const [found, wanted]: NDArray[] = [
      await slice(y).compute({ device }),
      await slice(whole).compute({ device }),
    ];
    expect(found!.shape).toEqual(wanted!.shape);
    expect([...found!.data]).toEqual([...wanted!.data]);
  }
}

describe('slices', () => {
  // First: values of slices along other axes than planned are beyond buffers.
  it('leave of a reduction and its argument what is needed', () => {
    const { bytesRead } = x.sum(1).slice(':', ':', [0, 1]).explain({ device });
    expect(bytesRead).toBe((8 * 360) / 6);
  });

  it.each([[0], [1], [2], [3], [0, 2], [1, 2], [0, 3]])(
    'of a reduction over %j… are those of its result',
    async (...axes) => {
      for (const keepdims of [false, true]) {
        await expectSlices(x.sum(axes, { keepdims }));
        await expectSlices(x.max(axes, { keepdims }).transpose());
      }
      if (axes.length === 1) await expectSlices(x.argmin(axes[0]!));
    },
  );

  it('of a product are those of its result', async () => {
    await expectSlices(einsum('abcd,aecd->ebc', x, x.add(1)));
    await expectSlices(einsum('abcd,aecd->ebc', x, x.add(1)).transpose());
  });
});
