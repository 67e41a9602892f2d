/**
 * The kernel cache with a compiler that counts: what is compiled how often, and what a broken disk costs (a
 * compilation, never an error). Many processes are real ones, started on the compiled sources.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { KernelCache, type KernelCacheOptions } from '../../src/exec/run/kernel-cache.js';

let folder: string;
let compiled: string[];

beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), 'weft-cache-')), 'weft');
  compiled = [];
});
afterEach(() => rmSync(resolve(folder, '..'), { recursive: true, force: true }));

const imageOf = (source: string): Uint8Array => new TextEncoder().encode(`image of ${source}`);

const makeCache = (changes: Partial<KernelCacheOptions> = {}): KernelCache =>
  new KernelCache({
    folder,
    byteLimit: 2 ** 20,
    version: () => '13.0',
    compile: async (source) => {
      compiled.push(source);
      return { image: imageOf(source), log: '' };
    },
    ...changes,
  });

const load = async (cache: KernelCache, source: string): Promise<string> =>
  new TextDecoder().decode((await cache.load(source, 'sm_90', ['--std=c++17'])).bytes);

const fileOf = (cache: KernelCache, source: string): string =>
  join(folder, `${cache.keyOf(source, 'sm_90', ['--std=c++17'])}.image`);

describe('the kernel cache', () => {
  it('takes an image from memory the second time', async () => {
    const cache = makeCache();
    await load(cache, 'a');
    expect(await load(cache, 'a')).toBe('image of a');
    expect(compiled).toEqual(['a']);
    expect(cache.counters).toEqual({ memoryHits: 1, diskHits: 0, compiles: 1 });
  });

  it('takes an image from disk in another process', async () => {
    await load(makeCache(), 'a');
    const later = makeCache();
    expect(await load(later, 'a')).toBe('image of a');
    expect(compiled).toEqual(['a']);
    expect(later.counters).toEqual({ memoryHits: 0, diskHits: 1, compiles: 0 });
  });

  it('compiles once for requests that come together', async () => {
    const cache = makeCache();
    const results = await Promise.all(['a', 'a', 'b', 'a'].map((source) => load(cache, source)));
    expect(results).toEqual(['image of a', 'image of a', 'image of b', 'image of a']);
    expect(compiled.sort()).toEqual(['a', 'b']);
  });

  it('tells sources, architectures, compiler versions and options apart', () => {
    const cache = makeCache();
    const keys = [
      cache.keyOf('a', 'sm_90', []),
      cache.keyOf('b', 'sm_90', []),
      cache.keyOf('a', 'sm_80', []),
      cache.keyOf('a', 'sm_90', ['-G']),
      cache.keyOf('a', 'sm_90', ['-G', '']),
      makeCache({ version: () => '12.9' }).keyOf('a', 'sm_90', []),
    ];
    expect(new Set(keys).size).toBe(keys.length);
    expect(cache.keyOf('a', 'sm_90', [])).toBe(keys[0]);
  });

  it('gives the compiler the architecture', async () => {
    let seen: readonly string[] = [];
    const cache = makeCache({
      compile: async (source, options) => {
        seen = options;
        return { image: imageOf(source), log: '' };
      },
    });
    await load(cache, 'a');
    expect(seen).toEqual(['--std=c++17', '--gpu-architecture=sm_90']);
  });

  it('passes on a failed compilation, forgets it, and leaves no lock', async () => {
    let works = false;
    const cache = makeCache({
      compile: async (source) => {
        if (!works) throw new Error('does not compile');
        return { image: imageOf(source), log: '' };
      },
    });
    await expect(load(cache, 'a')).rejects.toThrow('does not compile');
    expect(readdirSync(folder)).toEqual([]);
    works = true;
    expect(await load(cache, 'a')).toBe('image of a');
  });
});

describe('a broken disk cache costs a compilation', () => {
  const recompilesAfter = async (breakIt: (file: string) => void): Promise<void> => {
    const cache = makeCache();
    await load(cache, 'a');
    breakIt(fileOf(cache, 'a'));
    expect(await load(makeCache(), 'a')).toBe('image of a');
    expect(compiled).toEqual(['a', 'a']);
    // And the broken file was replaced.
    expect(await load(makeCache(), 'a')).toBe('image of a');
    expect(compiled).toEqual(['a', 'a']);
  };

  it('when the file is truncated', () => recompilesAfter((file) => truncateSync(file, 50)));
  it('when the file is empty', () => recompilesAfter((file) => truncateSync(file, 0)));
  it('when a byte of the image changed', () =>
    recompilesAfter((file) => {
      const bytes = readFileSync(file);
      bytes[bytes.length - 1]! ^= 1;
      writeFileSync(file, bytes);
    }));
  it('when the file is not an image', () => recompilesAfter((file) => writeFileSync(file, 'x'.repeat(200))));
  it('when the file is that of another key', async () => {
    const cache = makeCache();
    await load(cache, 'a');
    await load(cache, 'b');
    writeFileSync(fileOf(cache, 'a'), readFileSync(fileOf(cache, 'b')));
    expect(await load(makeCache(), 'a')).toBe('image of a');
    expect(compiled).toEqual(['a', 'b', 'a']);
  });

  it('when the folder vanishes, and makes it again', async () => {
    const cache = makeCache();
    await load(cache, 'a');
    rmSync(folder, { recursive: true });
    expect(await load(cache, 'b')).toBe('image of b');
    expect(await load(cache, 'c')).toBe('image of c');
    expect(existsSync(fileOf(cache, 'c'))).toBe(true);
    expect(cache.problem).toBeUndefined();
  });

  it('when the folder is a file', async () => {
    writeFileSync(folder, '');
    const cache = makeCache();
    expect(await load(cache, 'a')).toBe('image of a');
    expect(cache.problem).toMatch(/EEXIST|not a folder/);
  });

  it('when others may write to the folder', async () => {
    mkdirSync(folder);
    chmodSync(folder, 0o777);
    const cache = makeCache();
    expect(await load(cache, 'a')).toBe('image of a');
    expect(cache.problem).toMatch(/written to by others/);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('when the folder cannot be made', async () => {
    const cache = makeCache({ folder: '/proc/weft' });
    expect(await load(cache, 'a')).toBe('image of a');
    expect(cache.problem).toBeDefined();
  });

  it('when writing fails', async () => {
    const cache = makeCache();
    await load(cache, 'a');
    // Neither a lock nor a file can be made under a link to itself; that holds for root too.
    rmSync(folder, { recursive: true });
    symlinkSync(folder, folder);
    expect(await load(cache, 'b')).toBe('image of b');
    expect(cache.problem).toMatch(/ELOOP|EEXIST/);
  });
});

describe('what is no regular file in the folder', () => {
  const special: readonly [string, (path: string) => void][] = [
    ['a pipe', (path) => execFileSync('mkfifo', [path])],
    ['a folder', (path) => mkdirSync(path)],
    ['a link to nothing', (path) => symlinkSync('nowhere', path)],
  ];
  const fillers = ['image', 'lock'].flatMap((ending) =>
    special.map(([kind, make]) => [ending, kind, make] as const),
  );

  it.each(fillers)(
    'is passed over at once where a kernel’s %s is %s',
    async (ending, kind, make) => {
      const cache = makeCache();
      mkdirSync(folder, { mode: 0o700 });
      const path = fileOf(cache, 'a').replace(/image$/, ending);
      make(path);
      expect(await load(cache, 'a')).toBe('image of a');
      expect(readdirSync(folder)).toContain(basename(path));
      // An image takes the place of all but a folder.
      const isKept = ending === 'lock' || kind !== 'a folder';
      expect(await load(makeCache(), 'a')).toBe('image of a');
      expect(compiled).toHaveLength(isKept ? 1 : 2);
    },
    5000,
  );
});

describe('the limit of the disk cache', () => {
  it('drops the images that were not used for longest', async () => {
    const big = (source: string): Uint8Array => new Uint8Array(1000).fill(source.charCodeAt(0));
    const options = {
      byteLimit: 3500,
      compile: async (source: string) => ({ image: big(source), log: '' }),
    };
    const cache = makeCache(options);
    for (const [i, source] of ['a', 'b', 'c'].entries()) {
      await load(cache, source);
      utimesSync(fileOf(cache, source), 1000 + i, 1000 + i);
    }
    await load(makeCache(options), 'a'); // used again
    await load(makeCache(options), 'd');
    const kept = ['a', 'b', 'c', 'd'].filter((source) => existsSync(fileOf(cache, source)));
    expect(kept).toEqual(['a', 'd', ...(kept.includes('c') ? ['c'] : [])].sort());
    expect(kept).not.toContain('b');
  });

  it('keeps nothing when it is 0', async () => {
    const cache = makeCache({ byteLimit: 0 });
    await load(cache, 'a');
    expect(existsSync(folder)).toBe(false);
    expect(cache.problem).toMatch(/0 bytes/);
  });
});

describe('locks between processes', () => {
  const lockOf = (cache: KernelCache, source: string): string =>
    fileOf(cache, source).replace(/image$/, 'lock');
  const withLock = (content: string, ageMs = 0, lockPatienceMs = 400): KernelCache => {
    const cache = makeCache({ lockPatienceMs });
    mkdirSync(folder, { mode: 0o700 });
    writeFileSync(lockOf(cache, 'a'), content);
    const time = (Date.now() - ageMs) / 1000;
    utimesSync(lockOf(cache, 'a'), time, time);
    return cache;
  };
  const elapsed = async (work: Promise<unknown>): Promise<number> => {
    const start = performance.now();
    await work;
    return performance.now() - start;
  };
  const deadPid = (): number => {
    const child = execFileSync(process.execPath, ['-p', 'process.pid'], { encoding: 'utf8' });
    return Number(child);
  };

  it('takes over the lock of a process that is dead', async () => {
    const cache = withLock(JSON.stringify({ pid: deadPid(), host: hostname(), start: '1' }), 0, 60_000);
    expect(await elapsed(load(cache, 'a'))).toBeLessThan(30_000);
    expect(readdirSync(folder).filter((name) => name.includes('lock'))).toEqual([]);
  });

  it('takes over the lock of a process whose pid another one has now', async () => {
    const cache = withLock(JSON.stringify({ pid: process.pid, host: hostname(), start: '1' }), 0, 60_000);
    expect(await elapsed(load(cache, 'a'))).toBeLessThan(30_000);
  });

  it('takes over a lock that its maker did not live to fill in', async () => {
    const cache = withLock('', 3000, 60_000);
    expect(await elapsed(load(cache, 'a'))).toBeLessThan(30_000);
  });

  it('compiles without the lock when a living holder takes too long', async () => {
    const cache = withLock(JSON.stringify({ pid: 1, host: 'another-host', start: '1' }));
    const time = await elapsed(load(cache, 'a'));
    expect(time).toBeGreaterThan(350);
    expect(compiled).toEqual(['a']);
  });

  it('uses what the holder wrote while waiting', async () => {
    const cache = withLock(JSON.stringify({ pid: process.pid, host: hostname(), start: null }));
    const waiting = load(makeCache({ lockPatienceMs: 5000 }), 'a');
    await new Promise((done) => setTimeout(done, 60));
    const other = makeCache({ folder: join(folder, 'elsewhere') });
    await load(other, 'a');
    writeFileSync(
      fileOf(cache, 'a'),
      readFileSync(join(folder, 'elsewhere', `${other.keyOf('a', 'sm_90', ['--std=c++17'])}.image`)),
    );
    expect(await waiting).toBe('image of a');
    expect(compiled).toEqual(['a']);
  });
});

describe('many processes', () => {
  const root = resolve(import.meta.dirname, '../..');
  let built: string;

  beforeAll(() => {
    built = mkdtempSync(join(tmpdir(), 'weft-built-'));
    writeFileSync(join(built, 'package.json'), '{"type":"module"}');
    const config = {
      extends: join(root, 'tsconfig.json'),
      compilerOptions: {
        outDir: built,
        rootDir: root,
        noEmitOnError: false,
        declaration: false,
        typeRoots: [join(root, 'node_modules/@types')],
      },
      files: [join(root, 'src/exec/run/kernel-cache.ts')],
      include: [],
    };
    writeFileSync(join(built, 'tsconfig.json'), JSON.stringify(config));
    try {
      execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', built], {
        stdio: 'pipe',
      });
    } catch {
      // Type errors are the type check's business; what matters here is that the files are there.
    }
    writeFileSync(
      join(built, 'child.js'),
      `import { appendFileSync } from 'node:fs';
       import { KernelCache } from './src/exec/run/kernel-cache.js';
       const [folder, log, compileMs, byteLength = 0] = process.argv.slice(2);
       process.on('SIGXFSZ', () => {}); // a limit of the system is then an error of the write
       const cache = new KernelCache({ folder, byteLimit: 2 ** 20, version: () => '13.0',
         compile: async (source) => {
           appendFileSync(log, source + '\\n');
           await new Promise((done) => setTimeout(done, Number(compileMs)));
           return { image: new TextEncoder().encode(('image of ' + source).padEnd(byteLength)), log: '' };
         } });
       const image = await cache.load('a', 'sm_90', []);
       process.stdout.write(new TextDecoder().decode(image.bytes));`,
    );
  });
  afterAll(() => rmSync(built, { recursive: true, force: true }));

  const start = (log: string, compileMs: number): ChildProcess =>
    spawn(process.execPath, [join(built, 'child.js'), folder, log, String(compileMs)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
  const outputOf = async (child: ChildProcess): Promise<string> => {
    let text = '';
    for await (const part of child.stdout!) text += String(part);
    return text;
  };

  it('that start together compile a kernel once', async () => {
    const log = join(folder, '..', 'log');
    const outputs = await Promise.all(Array.from({ length: 16 }, () => outputOf(start(log, 300))));
    expect(outputs).toEqual(Array(16).fill('image of a'));
    expect(readFileSync(log, 'utf8')).toBe('a\n');
    expect(readdirSync(folder).map((name) => name.split('.').pop())).toEqual(['image']);
  });

  it('go on where the disk takes no more, and leave nothing there', async () => {
    const log = join(folder, '..', 'log');
    const script = join(built, 'child.js');
    const limited = [
      '-c',
      'ulimit -f 8; exec "$0" "$@"',
      process.execPath,
      script,
      folder,
      log,
      '0',
      '99999',
    ];
    for (let k = 1; k <= 2; k++) {
      const child = spawn('sh', limited, { stdio: ['ignore', 'pipe', 'inherit'] });
      expect((await outputOf(child)).trim()).toBe('image of a');
      expect(readFileSync(log, 'utf8')).toBe('a\n'.repeat(k));
      expect(readdirSync(folder)).toEqual([]);
    }
  });

  it('do not wait for one that was killed while it compiled', async () => {
    const log = join(folder, '..', 'log');
    const first = start(log, 60_000);
    while (!existsSync(log)) await new Promise((done) => setTimeout(done, 20));
    const second = outputOf(start(log, 0));
    await new Promise((done) => setTimeout(done, 100));
    first.kill('SIGKILL');
    expect(await second).toBe('image of a');
    expect(readFileSync(log, 'utf8')).toBe('a\na\n');
  });
});
