/**
 * Folders that are put in the place of others: processes that end meanwhile, and file systems that cannot
 * exchange names.
 */
import { existsSync, readdirSync } from 'node:fs';
import * as files from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { FileError, lazy, loadZarr, saveZarr } from '../../src/index.js';
import { endingOf, LIBRARY } from '../support/ending.js';
import { temporaryFolder } from '../support/files.js';

const { canExchange } = vi.hoisted(() => ({ canExchange: vi.fn() }));
vi.mock('../../src/exec/native/native.js', async (original) => {
  const native = await original<typeof import('../../src/exec/native/native.js')>();
  const exchangePaths = async (one: string, other: string): Promise<boolean> =>
    canExchange() && native.exchangePaths(one, other);
  return { ...native, exchangePaths };
});
vi.mock('node:fs/promises', async (original) => ({ ...(await original<typeof files>()) }));

const root = temporaryFolder();
let path: string;
beforeEach(async () => {
  path = join(await files.mkdtemp(join(root.path, 'each-')), 'x.zarr');
  await saveZarr(path, lazy([1, 2, 3]), { device: 'cpu' });
});
afterEach(() => {
  vi.restoreAllMocks();
});

/** As the system says it. */
const refused = (): Error => Object.assign(new Error('no'), { code: 'EIO', syscall: 'rename' });

const names = (): string[] => readdirSync(join(path, '..'));
const elements = async (): Promise<string> => String(await (await loadZarr(path)).compute({ device: 'cpu' }));

describe.each([
  ['that can exchange names', true],
  ['that cannot', false],
])('on a file system %s', (_, can) => {
  beforeEach(() => {
    canExchange.mockReturnValue(can);
  });

  it('an array takes the place of another one', async () => {
    await saveZarr(path, lazy([4, 5]), { device: 'cpu' });
    expect([await elements(), names()]).toEqual(['[4. 5.]', ['x.zarr']]);
  });

  it('an array that cannot get its name leaves the one before', async () => {
    const { rename } = files;
    vi.spyOn(files, 'rename').mockImplementation(async (from, to) => {
      const isLast = String(to) === path && !String(from).endsWith('.old');
      if (isLast) throw refused();
      await rename(from, to);
    });
    canExchange.mockImplementation(() => {
      if (can) throw refused();
      return false;
    });
    await expect(saveZarr(path, lazy([4, 5]), { device: 'cpu' })).rejects.toThrow(FileError);
    expect([await elements(), names()]).toEqual(['[1. 2. 3.]', ['x.zarr']]);
  });
});

/** Ends the process, or the worker, at the n-th call of one of these functions, before or after it. */
const endingScript = (name: string, nth: number, after: boolean): string => `
  import fs from 'node:fs';
  import { syncBuiltinESMExports } from 'node:module';
  import { lazy, saveZarr } from ${JSON.stringify(LIBRARY)};
  const original = fs.promises.${name};
  let calls = 0;
  fs.promises.${name} = async (...args) => {
    const isIt = ++calls === ${nth};
    if (isIt && ${!after}) process.exit(7);
    const result = await original(...args);
    if (isIt) process.exit(7);
    return result;
  };
  syncBuiltinESMExports();
  await saveZarr(${JSON.stringify(path)}, lazy([4, 5]), { device: 'cpu' });
  process.exit(8);`;

describe.each([
  ['mkdir', 1],
  ['open', 1],
  ['open', 2],
  ['rename', 1],
  ['rm', 1],
])('a process that exits at %s, call %i', (name, nth) => {
  it.each([
    ['before', false],
    ['after', true],
  ])('%s it leaves an array that is whole, and nothing else', async (_, after) => {
    const ending = await endingOf(endingScript(name, nth, after), { module: true });
    expect(ending).toMatchObject({ code: 7 });
    expect(names()).toEqual(['x.zarr']);
    expect(existsSync(join(path, 'zarr.json'))).toBe(true);
    expect(await elements()).toBe(name === 'rm' ? '[4. 5.]' : '[1. 2. 3.]');
  });
});
