/** Windows of values that go on where the tile before stopped: a program is refused whose table has others. */
import { afterAll, describe, expect, it } from 'vitest';
import { createProgram, type ProgramSpec } from '../../src/exec/native/native.js';
import { CPU } from '../../src/exec/targets/device.js';
import { cpuProgram } from '../../src/exec/targets/program-cpu.js';
import { canonicalize } from '../../src/fusion/passes/canonicalize.js';
import { ArgumentError } from '../../src/host/errors.js';
import { ndimage, placeholder } from '../../src/index.js';
import { WINDOW, WINDOW_FIELDS } from '../../src/shared/layout.js';
import { planOnDevice } from '../support/device-plan.js';

const set = process.env.WEFT_PANEL_BYTES;
process.env.WEFT_PANEL_BYTES = '98304';
afterAll(() => {
  if (set === undefined) delete process.env.WEFT_PANEL_BYTES;
  else process.env.WEFT_PANEL_BYTES = set;
});

/** A blur in panels, each with rows of the panel before, with some numbers of its table changed. */
function program(
  change: (table: Float64Array, at: (tile: number, field: keyof typeof WINDOW) => number) => void,
): ProgramSpec {
  const half = ndimage.uniformFilter(placeholder([600, 340], 'float32'), { size: [5, 1] });
  const blur = ndimage.uniformFilter(half, { size: [1, 5] });
  const blurred = ndimage.uniformFilter(blur, { size: [5, 1] });
  const spec = cpuProgram(planOnDevice(canonicalize([blurred.expr]), CPU, {}).plan);
  const at = (tile: number, field: keyof typeof WINDOW): number => tile * WINDOW_FIELDS + WINDOW[field];
  const steps = spec.steps.map((step) => {
    if (step.kind !== 'sweep') return step;
    const buffers = step.buffers.map((buffer) => {
      const windows = Float64Array.from(buffer.windows);
      if (windows[at(1, 'copies')] === 1) change(windows, at);
      return { ...buffer, windows };
    });
    return { ...step, buffers };
  });
  return { ...spec, steps };
}

describe('windows that go on', () => {
  it('are those of a plan', () => {
    let changed = 0;
    expect(() => createProgram(program(() => changed++))).not.toThrow();
    expect(changed).toBeGreaterThan(0);
  });

  it.each<[string, Parameters<typeof program>[0]]>([
    ['the first tile has one before it', (table, at) => (table[at(0, 'copies')] = 1)],
    [
      'it begins behind the end of the one before',
      (table, at) => {
        const end = table[at(0, 'first')]! + table[at(0, 'width')]!;
        table[at(1, 'width')]! -= end + 4 - table[at(1, 'first')]!;
        table[at(1, 'first')] = end + 4;
      },
    ],
    [
      'it begins before the one before',
      (table, at) => {
        table[at(0, 'first')] = table[at(1, 'first')]! + 4;
      },
    ],
    ['the tile before has none', (table, at) => (table[at(0, 'rows')] = 0)],
  ])('are refused where %s', (_, change) => {
    const made = (): unknown => createProgram(program(change));
    expect(made).toThrow(ArgumentError);
    expect(made).toThrow(/windows of tile \[[01]\] to be a stretch that begins in the one before$/);
  });
});
