/**
 * Tapes of the CPU as text (golden files): what fills blocks and loops, how instructions are joined into chains,
 * and where values lie. Update with `npx vitest run -u`.
 */
import { describe, expect, it } from 'vitest';
import { kernelsOf } from '../../src/exec/plan/plan.js';
import { CPU } from '../../src/exec/targets/device.js';
import { canonicalize } from '../../src/fusion/passes/canonicalize.js';
import { type Lazy, placeholder } from '../../src/index.js';
import { planOnDevice } from '../support/device-plan.js';
import { printTape } from '../support/print-tape.js';

const x = placeholder([500, 300], 'float32');
const row = placeholder([300], 'float32');

const JOBS: Readonly<Record<string, () => readonly Lazy[]>> = {
  'a chain of maps': () => [x.mul(2).add(row).maximum(0).div(x.abs().add(1))],
  'functions and chains by turns': () => [x.sin().mul(row).exp().add(x)],
  'sums of rows and of columns': () => [x.mul(x).sum(1), x.sum(0)],
  'one sum of everything': () => [placeholder([1_000_003], 'float32').square().sum()],
  'softmax of rows': () => [x.softmax(1)],
  'columns less their means': () => [x.sub(x.mean(0))],
  'neighbours of a field': () => [
    x
      .slice([1, -1], [1, -1])
      .mul(-4)
      .add(x.slice([2, null], [1, -1])),
  ],
  'a transpose beside what lies straight': () => [placeholder([300, 500], 'float32').T.add(x)],
  'rows looked up': () => [x.take(placeholder([70], 'int32'), 0).mul(row)],
  halves: () => [placeholder([500, 300], 'float16').mul(3).sum(1)],
  'several results of one walk': () => [x.min(1), x.argmax(1), x.std(1)],
};

describe('the tape', () => {
  it.each(Object.entries(JOBS))('is written down for %s', async (name, make) => {
    const outputs = make().map(({ expr }) => expr);
    const { plan } = planOnDevice(canonicalize(outputs), CPU, {});
    const tapes = plan.steps.flatMap(kernelsOf).map(printTape).join('\n');
    await expect(tapes).toMatchFileSnapshot(`../golden/tapes/${name.replace(/\W+/g, '-')}.txt`);
  });
});
