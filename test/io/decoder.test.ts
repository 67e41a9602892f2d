/** Threads that decode: what holds them holds nothing else, and they end. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { describe, expect, it } from 'vitest';
import { FileError, loadParquet } from '../../src/index.js';
import { Decoder, type DecoderJob } from '../../src/io/decoder.js';
import { LEAVING, LIBRARY, timedEndingOf } from '../support/ending.js';
import { temporaryFolder } from '../support/files.js';

const folder = temporaryFolder();

/** A thread that follows orders: spins, asks for bytes, fails, ends. */
const SCRIPT = `
  import { parentPort, threadId } from 'node:worker_threads';
  const orders = {
    spin: () => { for (;;); },
    slow: async () => {
      for (let k = 0; k < 12; k++) {
        await new Promise((resolve) => setTimeout(resolve, 100));
        parentPort.postMessage({ type: 'progress', doing: 'part ' + k });
      }
      parentPort.postMessage({ type: 'done', value: 'slow' });
    },
    half: () => { parentPort.postMessage({ type: 'progress', doing: 'part 3' }); for (;;); },
    thread: () => parentPort.postMessage({ type: 'done', value: threadId }),
    end: () => process.exit(0),
    fail: () => parentPort.postMessage({ type: 'ask', call: 8, range: {} }),
    read: () => parentPort.postMessage({ type: 'ask', call: 7, range: { offset: 1, length: 2 } }),
  };
  parentPort.on('message', (message) => {
    if (message.type === 'job') orders[message.kind]();
    else if (message.type === 'unreadable') parentPort.postMessage({ type: 'failed', failure: {} });
    else parentPort.postMessage({ type: 'done', value: message.file?.bytes.length ?? 'none' });
  });
`;
const script = pathToFileURL(folder.put('thread.mjs', SCRIPT));
const make = (deadline = 400): Decoder => new Decoder(script, () => deadline);

const job = (kind: string, read: DecoderJob['read'] = () => Promise.resolve(undefined)): DecoderJob => ({
  kind,
  task: undefined,
  op: 'test',
  what: 'the file',
  path: '/there',
  read,
});

describe('a thread that decodes', () => {
  it('is stopped where it makes no progress, and leaves the event loop alone', async () => {
    let turns = 0;
    const turning = setInterval(() => turns++, 5);
    const stuck = await make()
      .decode(job('spin'))
      .catch((error: unknown) => error);
    clearInterval(turning);
    expect(stuck).toBeInstanceOf(FileError);
    expect(stuck).toMatchObject({ path: '/there', code: 'ERR_FILE_TIMEOUT' });
    expect(String(stuck)).toMatch(
      /\[test] expected the file to be decoded: no progress in 400 ms \(\/there\)/,
    );
    expect(turns).toBeGreaterThan(10);
  });

  it('may take long while it gets on, and says which part held it', async () => {
    // A part of it takes a tenth of what it may.
    expect(await make(1000).decode(job('slow'))).toBe('slow');
    await expect(make(1000).decode(job('half'))).rejects.toThrow(/expected part 3 to be decoded/);
  });

  it('is used again, and replaced where it ended', async () => {
    const decoder = make(60_000);
    const first = await decoder.decode(job('thread'));
    expect(await decoder.decode(job('thread'))).toBe(first);
    await expect(decoder.decode(job('end'))).rejects.toMatchObject({ code: 'ERR_FILE_FORMAT' });
    expect(await decoder.decode(job('thread'))).not.toBe(first);
  });

  it('stops at a signal, at once, while it is busy or there is none free', async () => {
    const decoder = make(60_000);
    const abort = new AbortController();
    const reason = new Error('enough');
    const jobs = Array.from({ length: 9 }, () => decoder.decode(job('spin'), abort.signal));
    const settled = Promise.allSettled(jobs);
    setTimeout(() => abort.abort(reason), 50);
    expect(await settled).toEqual(jobs.map(() => ({ status: 'rejected', reason })));
    await expect(decoder.decode(job('spin'), AbortSignal.abort(reason))).rejects.toBe(reason);
    expect(await decoder.decode(job('thread'))).toBeTypeOf('number');
  });

  it('gets the bytes that it asks for, and what cannot be read rejects its job', async () => {
    const decoder = make(60_000);
    const bytes = new Uint8Array(5);
    expect(await decoder.decode(job('read', async () => ({ bytes, byteLength: 9 })))).toBe(5);
    // They went to the thread without a copy.
    expect(bytes.length).toBe(0);
    expect(await decoder.decode(job('read'))).toBe('none');
    const unreadable = new FileError('no', '/there', 'EIO');
    const failed = decoder.decode(job('fail', () => Promise.reject(unreadable)));
    await expect(failed).rejects.toBe(unreadable);
  });

  it('keeps no process alive, in a worker neither, and is stopped by its end', async () => {
    const path = folder.put(
      'x.parquet',
      Buffer.from(
        parquetWriteBuffer({ columnData: [{ name: 'x', data: Int32Array.of(1, 2), type: 'INT32' }] }),
      ),
    );
    const load = `
      import { loadParquet } from '${LIBRARY}';
      const { x } = await loadParquet(${JSON.stringify(path)});
      console.log(String(await x.sum().compute({ device: 'cpu' })));
      process.stdout.write(${JSON.stringify(LEAVING)});`;
    const worker = `
      import { Worker } from 'node:worker_threads';
      new Worker(new URL('data:text/javascript,' + encodeURIComponent(${JSON.stringify(load)})));`;
    const spinning = `
      import { Decoder } from '${new URL('../src/io/decoder.js', LIBRARY)}';
      const job = { kind: 'spin', op: 'test', what: 'x', path: '/x', read: () => undefined };
      new Decoder(new URL('${script}'), () => 1e6).decode(job);
      setTimeout(() => {
        process.stdout.write(${JSON.stringify(LEAVING)});
        process.exit(7);
      }, 300);`;
    const endings = await Promise.all(
      [load, worker, spinning].map((text) => timedEndingOf(text, { module: true })),
    );
    expect(endings.map(({ code, output }) => [code, output.trim()])).toEqual([
      [0, '3'],
      [0, '3'],
      [7, ''],
    ]);
    // A thread that nobody needs waits ten seconds for another job.
    for (const { milliseconds } of endings) expect(milliseconds).toBeLessThan(8000);
  });
});

describe('a Parquet file', () => {
  it('whose page claims more values than it has is refused, and holds nothing', async () => {
    const count = 2 ** 21;
    const data = Array.from({ length: count }, () => true);
    const columnData = [{ name: 'b', data, type: 'BOOLEAN' as const, nullable: true }];
    const bytes = Buffer.from(parquetWriteBuffer({ columnData, codec: 'UNCOMPRESSED', rowGroupSize: count }));
    // The run of levels: 2^21 times, with its length in four bytes.
    const run = bytes.indexOf(Buffer.from([0x80, 0x80, 0x80, 0x02, 0x01]));
    expect(run).toBeGreaterThan(0);
    bytes.set([0xfe, 0xff, 0xff, 0x7f], run);
    const { b } = await loadParquet(folder.put('run.parquet', bytes));
    const failed = await b!
      .sum()
      .compute({ device: 'cpu' })
      .catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(FileError);
    expect(failed).toMatchObject({ code: 'ERR_FILE_FORMAT', path: join(folder.path, 'run.parquet') });
    expect(String(failed)).toMatch(/a run of 1 to 2097152 values \(column b, group 0\): 134217727/);
  });
});
