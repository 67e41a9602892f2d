import { readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { startVitest } from 'vitest/node';
import { temporaryFolder } from './files.js';
import { needsOwnProcess, OwnProcessesFirst, sharedProcesses } from './shared-processes.js';

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

it('the files of a single worker find no state that another changed', async () => {
  const { path: root, put } = temporaryFolder();
  const setting = 'process.env.WEFT_OF_A_FILE';
  // What a file finds is the name of its test.
  const test = `it(process.pid + ' ' + ${setting}, () => {});\n`;
  for (const name of ['a', 'c']) put(`${name}.test.js`, `${setting} = '${name}';\n${test}`);
  for (const name of ['b', 'd']) put(`${name}.test.js`, test);
  const vitest = await startVitest('test', [], {
    root,
    config: false,
    watch: false,
    globals: true,
    isolate: false,
    maxWorkers: 1,
    pool: sharedProcesses,
    sequence: { sequencer: OwnProcessesFirst },
    reporters: [{}],
  });
  const found = vitest.state
    .getTestModules()
    .flatMap(({ children }) => [...children.allTests('passed')].map(({ name }) => name.split(' ')));
  await vitest.close();
  expect(found.map(([, set]) => set).sort()).toEqual(['a', 'c', 'undefined', 'undefined']);
  const shared = found.filter(([, set]) => set === 'undefined').map(([pid]) => pid);
  expect(new Set(shared).size).toBe(1);
  expect(new Set(found.map(([pid]) => pid)).size).toBe(3);
});
