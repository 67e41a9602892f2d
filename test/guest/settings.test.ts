/**
 * Settings that name what is not there or cannot be used: a compute says so, with the name of the setting or
 * of the file.
 */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SIM_ENVIRONMENT } from '../sim/environment.js';
import { endingOf, LIBRARY } from '../support/ending.js';
import { temporaryFolder } from '../support/files.js';

const root = temporaryFolder();
/** A pipe that nobody writes to. */
const pipe = join(root.path, 'pipe');
execFileSync('mkfifo', [pipe]);
/** A folder with a pipe that has the name of the first dump. */
const dumps = join(root.path, 'dumps');
execFileSync('mkdir', [dumps]);
execFileSync('mkfifo', [join(dumps, '00000-graph-as_built.txt')]);

const script = (device: string): string => `
  import { lazy } from ${JSON.stringify(LIBRARY)};
  await lazy([1, 2]).add(1).sum().compute({ device: '${device}' }).then(
    (sum) => console.log(sum.item()),
    (error) => console.log(error.name + ': ' + error.message),
  );
`;

describe.concurrent('a setting', () => {
  it.each<[string, string, string, RegExp]>([
    ['WEFT_MEMORY', 'lots', 'cpu', /^ArgumentError: .*WEFT_MEMORY.*lots/],
    ['WEFT_BLAS', '/nowhere/blas.so', 'cpu', /^ArgumentError: .*WEFT_BLAS.*nowhere/],
    ['WEFT_LAPACK', '/nowhere/lapack.so', 'cpu', /^ArgumentError: .*WEFT_LAPACK.*nowhere/],
    ['WEFT_DUMP', '/proc/nowhere', 'cpu', /^ArgumentError: .*WEFT_DUMP.*nowhere/],
    ['WEFT_CUDA_DRIVER', '/nowhere/cuda.so', 'cuda', /^DeviceError: .*no NVIDIA driver.*nowhere/],
    ['WEFT_NVRTC', '/etc/hostname', 'cuda', /^DeviceError: .*NVRTC.*hostname/],
    ['WEFT_CACHE', '/proc/nowhere', 'cuda', /^5$/],
    ['WEFT_BLAS', pipe, 'cpu', /^ArgumentError: .*WEFT_BLAS.*pipe: not a regular file/],
    ['WEFT_NVRTC', pipe, 'cuda', /^DeviceError: .*NVRTC.*pipe: not a regular file/],
    ['WEFT_DUMP', dumps, 'cpu', /^ArgumentError: .*WEFT_DUMP.*ENXIO/],
    ['WEFT_SCRATCH', '/nowhere', 'cpu', /^5$/],
  ])('%s=%s is named, or is no condition', async (name, value, device, wanted) => {
    const env = { ...(device === 'cuda' ? SIM_ENVIRONMENT : {}), [name]: value };
    const { code, output } = await endingOf(script(device), { module: true, env });
    expect(code).toBe(0);
    expect(output.trim()).toMatch(wanted);
  });

  it('WEFT_SCRATCH is named where values have to wait in it', async () => {
    const loop = `
      import { iterate, lazy } from ${JSON.stringify(LIBRARY)};
      const x = lazy(new Float32Array(2 ** 20), { shape: [1024, 1024] });
      const turned = iterate(5, x, (y) => y.transpose().add(1)).compute({ device: 'cpu', memory: '2MiB' });
      await turned.catch((error) => console.log(error.name + ': ' + error.message));
    `;
    const { output } = await endingOf(loop, { module: true, env: { WEFT_SCRATCH: '/nowhere' } });
    expect(output.trim()).toMatch(/^FileError: .*a folder for temporary files: No such.*nowhere/);
  });
});

describe.concurrent('a flag of the engine', () => {
  const looped = `
    import { setFlagsFromString } from 'node:v8';
    import { runInNewContext } from 'node:vm';
    import { compile, lazy } from ${JSON.stringify(LIBRARY)};
    if (process.env.OWN_FLAG) setFlagsFromString(process.env.OWN_FLAG);
    const next = compile((x) => x.add(1), { device: 'cpu' });
    const x = lazy(new Float32Array(2 ** 22));
    for (let k = 0; k < 4; k++) await next(x);
    console.log((await next(x)).at(-1), typeof globalThis.gc, runInNewContext('typeof gc'));
  `;

  it.each<[flag: string, wanted: string]>([
    ['--no-warnings', '1 undefined undefined'],
    ['--freeze-flags-after-init', '1 undefined undefined'],
    ['--disallow-code-generation-from-strings', '1 undefined undefined'],
    ['--expose-gc', '1 function function'],
  ])('%s is as it was after collections of results', async (flag, wanted) => {
    const { code, output } = await endingOf(looped, { module: true, flags: [flag] });
    expect([code, output.trim()]).toEqual([0, wanted]);
  });

  it('that is frozen does not end a process whose worker has other options', async () => {
    const source = JSON.stringify(`data:text/javascript,${encodeURIComponent(looped)}`);
    const script = `
      import { Worker } from 'node:worker_threads';
      new Worker(new URL(${source}), { execArgv: [] });
    `;
    const { code, output } = await endingOf(script, { module: true, flags: ['--freeze-flags-after-init'] });
    expect([code, output.trim()]).toEqual([0, '1 undefined undefined']);
  });

  it('that the program sets is as it was, too', async () => {
    const env = { OWN_FLAG: '--expose-gc' };
    const { code, output } = await endingOf(looped, { module: true, env });
    expect([code, output.trim()]).toEqual([0, '1 undefined function']);
  });
});
