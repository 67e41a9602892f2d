import { readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { needsOwnProcess } from './shared-processes.js';

const tests = resolve(import.meta.dirname, '..');
const isOwn = (path: string): boolean => needsOwnProcess(join(tests, path));

it('files that change or measure state of the whole process have one of their own', () => {
  // A setting that is read once, modules that are mocked, memory of the process, events, devices.
  for (const path of [
    'exec/plan-golden.test.ts',
    'io/zarr-replaced.test.ts',
    'held-results.test.ts',
    'refused-promises.test.ts',
    'exec/cuda-runtime.test.ts',
  ])
    expect({ path, isOwn: isOwn(path) }).toEqual({ path, isOwn: true });
  const simulated = readdirSync(join(tests, 'sim')).filter((path) => path.endsWith('.test.ts'));
  expect(simulated.filter((path) => !isOwn(join('sim', path)))).toEqual([]);
});

it('most files share a process', () => {
  const files = readdirSync(tests, { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.endsWith('.test.ts'),
  );
  const shared = files.filter((path) => !isOwn(path));
  expect(shared).toContain(join('graph', 'shape.test.ts'));
  expect(shared).toContain(join('conformance', 'ops.test.ts'));
  expect(shared.length).toBeGreaterThan(files.length / 2);
});
