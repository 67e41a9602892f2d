/**
 * Kernels that are compiled ahead: written for architectures that are named, and all that a process without NVRTC
 * needs. Each process is one of its own, as on another machine.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SIM_ENVIRONMENT } from './environment.js';

const INDEX = pathToFileURL(resolve(import.meta.dirname, '../../dist/weft/index.js')).href;
/** The graphs of the tests: a kernel, a sum of two, a routine, a loop, an index array that is checked first. */
const GRAPHS = `
const graphs = (x) => ({
  map: w.tanh(x.mul(2)),
  sum: x.exp().sum(),
  sort: x.sort(),
  scan: x.cumulativeSum(),
  loop: w.iterate(3, x, (y) => y.mul(0.5).add(1)),
  taken: x.take(w.lazy(new Int32Array([5, 1, 4]))),
});
`;
const WRITE = `
const x = w.placeholder([4096], 'float32');
console.log(JSON.stringify(await w.precompile(graphs(x), { architectures: ARCHITECTURES, folder: FOLDER })));
`;
const COMPUTE = `
const data = Float32Array.from({ length: 4096 }, (_, i) => ((i * 7919) % 4096) / 4096);
for (const device of ['cuda', 'cpu']) {
  const results = await w.compute(graphs(w.lazy(data)), { device });
  console.log(JSON.stringify(Object.values(results).map((r) => r.size === 1 ? r.item().toFixed(2) : [...r.toArray()].slice(0, 5).map((v) => v.toFixed(4)))));
}
await w.lazy(data).sinh().compute({ device: 'cuda' }).catch(({ name, message }) => console.log(name + ': ' + message));
`;

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'weft-ahead-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs lines in a process; gives its output, by lines. */
function run(lines: string, env: Readonly<Record<string, string>> = {}): string[] {
  const script = `import * as w from '${INDEX}';\n${GRAPHS}${lines}`;
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
    encoding: 'utf8',
    env: { ...process.env, ...SIM_ENVIRONMENT, ...env },
  });
  if (status !== 0) throw new Error(stderr);
  return stdout.trimEnd().split('\n');
}

const withValues = (lines: string, architectures: readonly string[], path: string): string =>
  lines.replace('ARCHITECTURES', JSON.stringify(architectures)).replace('FOLDER', JSON.stringify(path));

describe('precompile', () => {
  it('writes all that the same computes need without NVRTC, and no more', () => {
    const kernels = join(folder, 'kernels');
    const [written] = run(withValues(WRITE, ['sm_90'], kernels));
    expect(JSON.parse(written!)).toEqual({ folder: kernels, kernels: readdirSync(kernels).length });
    const [onGpu, onCpu, refused] = run(COMPUTE, { WEFT_NVRTC: '/no/libnvrtc.so', WEFT_KERNELS: kernels });
    expect(onGpu).toBe(onCpu);
    expect(refused).toBe(
      `DeviceError: [cuda] expected NVRTC (libnvrtc), or this kernel for sm_90 among those that were compiled ahead in ${kernels}: precompile() on a machine with NVRTC writes them`,
    );
  });

  it('writes kernels of other architectures beside them, which this GPU does not use', () => {
    const kernels = join(folder, 'others');
    run(withValues(WRITE, ['sm_80', 'sm_86'], kernels));
    expect(() => run(COMPUTE, { WEFT_NVRTC: '/no/libnvrtc.so', WEFT_KERNELS: kernels })).toThrow(
      /this kernel for sm_90/,
    );
  });

  it('makes a kernel that was cut off one that is not there', () => {
    const kernels = join(folder, 'broken');
    run(withValues(WRITE, ['sm_90'], kernels));
    for (const name of readdirSync(kernels))
      writeFileSync(join(kernels, name), readFileSync(join(kernels, name)).subarray(0, 60));
    expect(() => run(COMPUTE, { WEFT_NVRTC: '/no/libnvrtc.so', WEFT_KERNELS: kernels })).toThrow(
      /this kernel for sm_90/,
    );
  });

  it('refuses what it cannot do, and says what it can', () => {
    const refusal = (options: string, env = {}): string =>
      run(
        `await w.precompile(w.arange(3).add(1), ${options}).catch(({ name, message }) => console.log(name + ': ' + message));`,
        env,
      )[0]!;
    const file = join(folder, 'file');
    writeFileSync(file, '');
    expect(refusal(`{ architectures: ['sm_1'], folder: 'x' }`)).toMatch(
      /^ArgumentError: \[precompile\] expected architectures that NVRTC \S+ compiles for, sm_\d+.*: 'sm_1'$/,
    );
    expect(refusal(`{ architectures: [], folder: 'x' }`)).toMatch(/^ArgumentError: .*list of names/);
    expect(refusal(`{ architectures: ['sm_90'] }`)).toMatch(/^ArgumentError: .*folder as the path/);
    expect(refusal('undefined')).toMatch(/^ArgumentError: .*architectures/);
    expect(refusal(`{ architectures: ['sm_90'], folder: '${file}' }`)).toMatch(
      /^FileError: .*is not a folder/,
    );
    const none = { WEFT_NVRTC: '/no/libnvrtc.so' };
    expect(refusal(`{ architectures: ['sm_90'], folder: 'x' }`, none)).toMatch(/^DeviceError: .*NVRTC/);
  });
});
