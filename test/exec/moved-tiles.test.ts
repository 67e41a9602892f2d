/** Jobs of very many tiles, most of which are others moved along: `exec/tiles/moved-tiles.ts`. */
import { expect, it } from 'vitest';
import { CPU } from '../../src/exec/targets/device.js';
import { canonicalize } from '../../src/fusion/passes/canonicalize.js';
import { placeholder } from '../../src/index.js';
import { RANGE, RANGE_FIELDS, WINDOW, WINDOW_FIELDS } from '../../src/shared/layout.js';
import { planOnDevice } from '../support/device-plan.js';

it('have windows of what each tile reads, from the first unit to the last', () => {
  const rows = 2 ** 22 - 100;
  const product = placeholder([rows, 1024], { dtype: 'float32' }).matmul(
    placeholder([1024, 1024], { dtype: 'float32' }),
  );
  const graph = canonicalize([product.tanh().sum(1).expr]);
  const { plan } = planOnDevice(graph, CPU, { budget: 2 ** 24 });
  const [sweep] = plan.steps.flatMap((step) => (step.kind === 'sweep' ? [step] : []));
  const { tiles, windows, body } = sweep!;
  expect(tiles).toBeGreaterThan(1000);
  const [products, sums] = body.map(({ ranges }) => ranges[0]!);
  expect(windows).toHaveLength(1);
  const [{ windows: table }] = windows as [(typeof windows)[number]];
  let [rowsBefore, unitsBefore] = [0, 0];
  for (let t = 0; t < tiles; t++) {
    const [from, to] = [products![t * RANGE_FIELDS + RANGE.x0]!, products![t * RANGE_FIELDS + RANGE.x1]!];
    // Products are made of 64 rows at a time: twice of those that two tiles need.
    expect(from % 64).toBe(0);
    expect(from).toBeLessThanOrEqual(rowsBefore);
    expect(rowsBefore - from).toBeLessThanOrEqual(64);
    rowsBefore = to;
    expect(sums![t * RANGE_FIELDS + RANGE.x0]).toBe(unitsBefore);
    unitsBefore = sums![t * RANGE_FIELDS + RANGE.x1]!;
    expect(table[t * WINDOW_FIELDS + WINDOW.first]).toBe(from * 4096);
    expect(table[t * WINDOW_FIELDS + WINDOW.width]).toBe((to - from) * 4096);
  }
  expect(rowsBefore).toBe(rows);
});
