/** Filters on every backend against SciPy's `ndimage`. */
import { describe, expect, it, vi } from 'vitest';
import { type Lazy, ndimage } from '../../src/index.js';
import { failuresOf } from '../support/api.js';
import { backends, isSimulated } from '../support/backends.js';
import { casesByCall, prepareCases } from '../support/composite-cases.js';

// One test of a table computes all its cases; on a GPU each kernel of a cold cache has to be compiled.
vi.setConfig({ testTimeout: 300_000 });

const cases = casesByCall('ndimage');
const functions = ndimage as unknown as Readonly<Record<string, (...args: readonly unknown[]) => Lazy>>;

describe.each(backends())('filters on %s', (device) => {
  // Interpreters are slow, and each kernel that is compiled for a simulated GPU takes as long as all cases on the CPU.
  const hasAll = device === 'cpu' || (device.startsWith('cuda') && !isSimulated(device));
  const own = (call: string) => cases.get(call)!.filter(({ few }) => few || hasAll);
  it.each([...cases.keys()].filter((call) => own(call).length > 0))(
    '%s gives what SciPy gives',
    async (call) => {
      expect(
        await failuresOf(
          device,
          prepareCases(own(call), (name) => functions[name]!),
        ),
      ).toEqual([]);
    },
  );
});
