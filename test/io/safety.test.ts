/**
 * Files that are not what they were, or cannot be read or written: a typed error, nothing half done, nothing
 * left over.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  arange,
  compute,
  FileError,
  fromFile,
  type Lazy,
  lazy,
  loadNpy,
  loadNpz,
  loadSafetensors,
  npy,
  saveNpy,
  saveNpz,
} from '../../src/index.js';
import { temporaryFolder } from '../support/files.js';

const root = temporaryFolder();
const device = 'cpu';
/** An empty folder of its own for each test. */
const freshFolder = (): string => mkdtempSync(join(root.path, 'f-'));

describe('a file that is no file', () => {
  const special: readonly [string, (folder: string) => string][] = [
    ['a folder', (folder) => folder],
    ['a device', () => '/dev/zero'],
    [
      'a pipe',
      (folder) => {
        execFileSync('mkfifo', [join(folder, 'pipe')]);
        return join(folder, 'pipe');
      },
    ],
    [
      'a link to a device',
      (folder) => {
        symlinkSync('/dev/zero', join(folder, 'link'));
        return join(folder, 'link');
      },
    ],
  ];
  it.each(special)('is refused when it is %s', async (_, make) => {
    const path = make(freshFolder());
    for (const load of [loadNpy, loadNpz, loadSafetensors]) {
      await expect(load(path)).rejects.toThrow(/a regular file/);
      await expect(load(path)).rejects.toThrow(FileError);
    }
    await expect(fromFile(path, { dtype: 'int8' })).rejects.toThrow(FileError);
    await expect(saveNpy(path, [1], { device })).rejects.toThrow(FileError);
  });

  it('is refused when it is missing, with the code of the system', async () => {
    const path = join(freshFolder(), 'missing.npy');
    const error = await loadNpy(path).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ name: 'FileError', code: 'ENOENT', path });
    await expect(saveNpy(join(path, 'x.npy'), [1], { device })).rejects.toMatchObject({ code: 'ENOENT' });
  });
});

describe('a file that changes after it was loaded', () => {
  const changes: readonly [string, (path: string) => void][] = [
    ['was cut off', (path) => truncateSync(path, 200)],
    ['was written to', (path) => writeFileSync(path, Buffer.alloc(8), { flag: 'r+' })],
    ['got another time', (path) => utimesSync(path, 1, 1)],
    [
      'was replaced by one of the same size and time',
      (path) => {
        const { atimeMs, mtimeMs } = statSync(path);
        writeFileSync(`${path}.new`, readFileSync(path));
        utimesSync(`${path}.new`, atimeMs / 1000, mtimeMs / 1000);
        renameSync(`${path}.new`, path);
      },
    ],
  ];
  it.each(changes)('is refused when it %s', async (_, change) => {
    const path = join(freshFolder(), 'x.npy');
    await saveNpy(path, arange(100), { device });
    const x = await loadNpy(path);
    expect((await x.sum().compute({ device })).item()).toBe(4950);
    change(path);
    const computing = x.sum().compute({ device });
    await expect(computing).rejects.toThrow(FileError);
    await expect(computing).rejects.toThrow(/changed or replaced/);
  });

  it('names the line that loaded it', async () => {
    const path = join(freshFolder(), 'x.npy');
    const x = await saveNpy(path, arange(3), { device });
    const y = await loadNpy(path);
    truncateSync(path, 1);
    await expect(y.compute({ device })).rejects.toThrow(/safety\.test\.ts:\d+/);
    await expect(x.compute({ device })).rejects.toThrow(FileError);
  });

  it('is read again from where it was moved to only when it is loaded again', async () => {
    const folder = freshFolder();
    const x = await saveNpy(join(folder, 'a.npy'), arange(3), { device });
    renameSync(join(folder, 'a.npy'), join(folder, 'b.npy'));
    await expect(x.compute({ device })).rejects.toMatchObject({ name: 'FileError', code: 'ENOENT' });
    expect((await (await loadNpy(join(folder, 'b.npy'))).compute({ device })).toArray()).toEqual([0, 1, 2]);
  });
});

describe('a compute that fails', () => {
  /** Arrays whose compute fails after it has begun: their data is gone. */
  const failing = (): Lazy => {
    const data = new Float32Array(8);
    const x = lazy(data).add(1);
    structuredClone(data.buffer, { transfer: [data.buffer] });
    return x;
  };

  it('leaves no file', async () => {
    const folder = freshFolder();
    await expect(saveNpy(join(folder, 'x.npy'), failing(), { device })).rejects.toThrow();
    await expect(saveNpz(join(folder, 'x.npz'), { a: [1], b: failing() }, { device })).rejects.toThrow();
    const to = [npy(join(folder, 'a.npy')), npy(join(folder, 'missing', 'b.npy'))];
    await expect(compute([[1], [2]], { to, device })).rejects.toMatchObject({ code: 'ENOENT' });
    expect(readdirSync(folder)).toEqual([]);
  });

  it('keeps the file that was there', async () => {
    const path = join(freshFolder(), 'x.npy');
    await saveNpy(path, [1, 2], { device });
    const before = readFileSync(path);
    await expect(saveNpy(path, failing(), { device })).rejects.toThrow();
    expect(readFileSync(path)).toEqual(before);
  });

  it('leaves no file when it is aborted, before and while it writes', async () => {
    const folder = freshFolder();
    const reason = new Error('enough');
    const signal = AbortSignal.abort(reason);
    await expect(saveNpy(join(folder, 'x.npy'), [1], { device, signal })).rejects.toBe(reason);
    expect(readdirSync(folder)).toEqual([]);
    const abort = new AbortController();
    const saving = saveNpy(join(folder, 'x.npy'), arange(4_000_000), { device, signal: abort.signal });
    while (readdirSync(folder).length === 0) await new Promise((resolve) => setImmediate(resolve));
    expect(readdirSync(folder)).toEqual([expect.stringMatching(/^\.weft-.*\.tmp$/)]);
    abort.abort(reason);
    await expect(saving).rejects.toBe(reason);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('stops reading when it is aborted', async () => {
    const x = await saveNpy(join(freshFolder(), 'x.npy'), arange(4_000_000), { device });
    const abort = new AbortController();
    const computing = x.sum().compute({ device, signal: abort.signal });
    abort.abort(new Error('enough'));
    await expect(computing).rejects.toThrow('enough');
  });
});

/** Runs a script on the built package, as a process of its own. */
const script = (body: string, limit = ''): { stdout: string; stderr: string; status: number | null } => {
  const file = root.put(`script-${Math.random().toString(36).slice(2)}.mjs`, body);
  return spawnSync('sh', ['-c', `${limit} exec "$0" "$1"`, process.execPath, file], { encoding: 'utf8' });
};
const weft = JSON.stringify(new URL('../../dist/weft/index.js', import.meta.url).href);

describe('the disk and the process', () => {
  it('leaves no file where the disk takes no more', () => {
    const folder = freshFolder();
    const body = `
      import { arange, saveNpy } from ${weft};
      process.on('SIGXFSZ', () => {}); // the limit is then an error of the write
      const error = await saveNpy(${JSON.stringify(join(folder, 'x.npy'))}, arange(100_000)).catch((e) => e);
      console.log(error.name, error.code);`;
    const { stdout, stderr } = script(body, 'ulimit -f 64;');
    expect([stdout, stderr]).toEqual(['FileError EFBIG\n', '']);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('leaves no file when the process exits', () => {
    const folder = freshFolder();
    const body = `
      import { readdirSync } from 'node:fs';
      import { arange, saveNpy } from ${weft};
      saveNpy(${JSON.stringify(join(folder, 'x.npy'))}, arange(4_000_000));
      while (readdirSync(${JSON.stringify(folder)}).length === 0) await new Promise(setImmediate);
      console.log(readdirSync(${JSON.stringify(folder)}).length);
      process.exit(3);`;
    const { stdout, stderr, status } = script(body);
    expect([stdout, stderr, status]).toEqual(['1\n', '', 3]);
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe('a worker that is terminated', () => {
  it('leaves no file', () => {
    const folder = freshFolder();
    const body = `
      import { readdirSync } from 'node:fs';
      import { isMainThread, Worker } from 'node:worker_threads';
      if (isMainThread) {
        const worker = new Worker(new URL(import.meta.url));
        while (readdirSync(${JSON.stringify(folder)}).length === 0) await new Promise(setImmediate);
        console.log(readdirSync(${JSON.stringify(folder)}).length);
        await worker.terminate();
      } else {
        const { arange, saveNpy } = await import(${weft});
        await saveNpy(${JSON.stringify(join(folder, 'x.npy'))}, arange(40_000_000));
      }`;
    const { stdout, stderr } = script(body);
    expect([stdout, stderr]).toEqual(['1\n', '']);
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe('what a file replaces', () => {
  it('follows a link, and keeps it', async () => {
    const folder = freshFolder();
    mkdirSync(join(folder, 'data'));
    await saveNpy(join(folder, 'data', 'x.npy'), [1], { device });
    symlinkSync(join('data', 'x.npy'), join(folder, 'link.npy'));
    const saved = await saveNpy(join(folder, 'link.npy'), [2, 3], { device });
    expect((await saved.compute({ device })).toArray()).toEqual([2, 3]);
    expect((await (await loadNpy(join(folder, 'data', 'x.npy'))).compute({ device })).toArray()).toEqual([
      2, 3,
    ]);
    expect([readdirSync(folder).sort(), readdirSync(join(folder, 'data'))]).toEqual([
      ['data', 'link.npy'],
      ['x.npy'],
    ]);
  });

  it('refuses a link to nothing', async () => {
    const folder = freshFolder();
    symlinkSync('nowhere', join(folder, 'link.npy'));
    await expect(saveNpy(join(folder, 'link.npy'), [1], { device })).rejects.toThrow(FileError);
    expect(existsSync(join(folder, 'nowhere'))).toBe(false);
  });

  it('keeps the mode of the file that was there', async () => {
    const path = join(freshFolder(), 'x.npy');
    await saveNpy(path, [1], { device });
    chmodSync(path, 0o640);
    await saveNpy(path, [2], { device });
    expect(statSync(path).mode & 0o777).toBe(0o640);
  });
});
