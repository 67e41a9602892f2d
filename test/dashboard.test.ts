/**
 * The dashboard's server: who is answered, what is told, and that it keeps nothing alive. `site/dashboard/check.mjs`
 * looks at the page.
 */
import { spawn } from 'node:child_process';
import { request } from 'node:http';
import { connect, createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { batch } from '../src/api/batch.js';
import { compile } from '../src/api/compile.js';
import { lazy, ones } from '../src/api/creation.js';
import { type Dashboard, dashboard } from '../src/api/dashboard.js';
import type { Lazy } from '../src/api/lazy.js';
import { linalg } from '../src/api/linalg.js';
import { profile } from '../src/api/profile.js';
import { readConfig } from '../src/host/config.js';
import { ArgumentError, RangeArgumentError } from '../src/host/errors.js';
import { Recordings } from '../src/inspect/dashboard/recordings.js';
import type { DashboardState, PageProgram } from '../src/inspect/dashboard/state.js';
import { fromReader } from '../src/io/reader.js';

let page: Dashboard;
beforeAll(async () => {
  page = await dashboard();
});
afterAll(() => page.close());

interface Answer {
  readonly status: number | undefined;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly body: string;
}

/** A request with headers that `fetch` would not let through. */
const ask = (path: string, headers = {}, method = 'GET'): Promise<Answer> =>
  new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port: page.port, path, headers, method }, (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (text) => {
        body += text;
      });
      response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, body }));
    })
      .on('error', reject)
      .end();
  });
const path = (name: string): string => new URL(name, page.url).pathname;

/** States as they come, until one is wanted. */
async function stateWhere(isWanted: (state: DashboardState) => boolean): Promise<DashboardState> {
  const answer = await fetch(new URL('events', page.url));
  let text = '';
  for await (const chunk of answer.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const [, data] = /^event: state\ndata: (.*)$/m.exec(text.slice(0, end)) ?? [];
      text = text.slice(end + 2);
      const state = data === undefined ? undefined : (JSON.parse(data) as DashboardState);
      if (state !== undefined && isWanted(state)) return state;
    }
  }
  throw new Error('the events ended');
}

const x = lazy(
  Float32Array.from({ length: 64 * 1024 }, (_, i) => i % 97),
  { shape: [64, 1024] },
);

describe('a request', () => {
  it('gets the page, which may load and run only its own files', async () => {
    const { status, headers, body } = await ask(path(''));
    expect(status).toBe(200);
    expect(headers['content-security-policy']).toMatch(/^default-src 'none'; script-src 'self';/);
    expect(headers['referrer-policy']).toBe('no-referrer');
    expect(headers['cache-control']).toBe('no-store');
    const files = [...body.matchAll(/(?:src|href)="([^#"]+)"/g)].map(([, file]) => file!);
    const styles = files.filter((file) => file.endsWith('.css'));
    expect(new Set(files)).toEqual(new Set(['icon.svg', ...styles, 'dashboard.js']));
    expect(styles.length).toBeGreaterThan(5);
    for (const file of styles) {
      const style = await ask(path(file));
      expect([file, style.status, style.headers['content-type']]).toEqual([
        file,
        200,
        'text/css; charset=utf-8',
      ]);
    }
    expect(body).not.toMatch(/ style=| on\w+="/);
  });

  it('gets every module that another one imports', async () => {
    const [todo, seen] = [['dashboard.js'], new Set<string>()];
    for (let file = todo.pop(); file !== undefined; file = todo.pop()) {
      seen.add(file);
      const { status, headers, body } = await ask(path(file));
      expect([file, status, headers['content-type']]).toEqual([file, 200, 'text/javascript; charset=utf-8']);
      for (const [, other] of body.matchAll(/^import .* from '\.\/(.*)';$/gm))
        if (!seen.has(other!)) todo.push(other!);
    }
    expect(seen.size).toBeGreaterThan(5);
  });

  it.each([
    ['no token', '/', {}, 403],
    ['a wrong token', '/0123456789abcdef01234567/', {}, 403],
    ['the name of another host', undefined, { host: 'evil.example' }, 403],
    ['a name that begins like this machine', undefined, { host: 'localhost.evil.example:8787' }, 403],
    ['the page of another site', undefined, { origin: 'https://evil.example' }, 403],
    ['the page of another site, by its kind', undefined, { 'sec-fetch-site': 'cross-site' }, 403],
    ['a forwarded port', undefined, { host: 'localhost:9999' }, 200],
    ['an unknown name', 'nothing', {}, 404],
    ['a path out of the folder', '../../../package.json', {}, 403],
    ['a program that never ran', 'program/123456', {}, 404],
  ])('with %s', async (_, name, headers, status) => {
    const target = name === undefined ? path('') : name.startsWith('/') ? name : path(name);
    expect((await ask(target, headers)).status).toBe(status);
  });

  it('that would change something is refused, but for a recording', async () => {
    expect((await ask(path(''), {}, 'POST')).status).toBe(405);
    expect((await ask(path('record'))).status).toBe(405);
    expect((await ask(path('record'), { origin: 'https://evil.example' }, 'POST')).status).toBe(403);
  });

  it('is only answered on the loopback address', async () => {
    const socket = connect({ host: '127.0.0.1', port: page.port });
    await new Promise((resolve) => socket.once('connect', resolve));
    expect(socket.remoteAddress).toBe('127.0.0.1');
    socket.destroy();
    expect(page.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/[\w-]{24}\/$/);
  });
});

describe('the state', () => {
  it('has a compute that is over, with the line that made it, and its plan', async () => {
    await x.sub(x.mean(0)).square().sum(1).compute({ device: 'cpu' });
    const { ended } = await stateWhere(() => true);
    const [last] = ended;
    expect(last).toMatchObject({ outcome: 'done', count: 1, devices: ['cpu'], isCompiled: false });
    expect(last!.title).toMatch(/reduce_/);
    expect(last!.site).toMatch(/^test\/dashboard\.test\.ts:\d+$/);
    const plan = JSON.parse((await ask(path(`program/${last!.program}`))).body) as PageProgram;
    expect(plan.steps.length).toBe(plan.count);
    expect(plan.steps[0]!.text).toContain('kernel reduce_sum');
    expect(plan.nodes.map(({ kind }) => kind)).toContain('output');
    expect(plan.edges.length).toBeGreaterThan(1);
  });

  it('has one entry for calls of a compiled function that follow each other', async () => {
    const step = compile((y: Lazy) => y.mul(0.5).add(1), { device: 'cpu' });
    for (let k = 0; k < 20; k++) await step(new Float32Array(16));
    const { ended } = await stateWhere(() => true);
    expect(ended.filter(({ isCompiled }) => isCompiled).map(({ count }) => count)).toEqual([20]);
  });

  it('has a compute under way, and how it ends where it is cancelled', async () => {
    const stop = new AbortController();
    let give = (): void => undefined;
    const read = (): Promise<Float64Array> =>
      new Promise((resolve) => {
        give = () => resolve(new Float64Array(4096));
      });
    const running = fromReader(read, { dtype: 'float64', shape: [4096] })
      .sum()
      .compute({ device: 'cpu', memory: '64MiB', signal: stop.signal });
    const reason = running.catch((error: Error) => error.name);
    const { active } = await stateWhere((state) => state.active.some(({ stage }) => stage === 'running'));
    expect(active).toMatchObject([{ devices: ['cpu'], title: 'reduce_sum', budget: 2 ** 26 }]);
    stop.abort();
    give();
    expect(await reason).toBe('AbortError');
    const { ended, totals } = await stateWhere((state) => state.active.length === 0);
    expect(ended[0]).toMatchObject({ outcome: 'cancelled', error: expect.stringMatching(/^AbortError/) });
    expect(totals.cancelled).toBe(1);
  });

  it('has the error of a compute that fails', async () => {
    await expect(linalg.inv(ones([3, 3], 'float32')).compute({ device: 'cpu' })).rejects.toThrow('singular');
    const { ended } = await stateWhere(() => true);
    expect(ended[0]).toMatchObject({
      outcome: 'failed',
      error: expect.stringMatching(/^LinalgError: .*singular/),
    });
  });

  it('has the jobs of a batch, and those that failed', async () => {
    let go = (): void => undefined;
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    const jobs = [
      x.sum(),
      () => Promise.reject(new Error('no such file')),
      async () => {
        await gate;
        return { name: 'last', compute: x.max() };
      },
    ];
    const all = batch(jobs, { devices: ['cpu'] }).all();
    const { batches } = await stateWhere((state) => state.batches[0]?.counts.failed === 1);
    expect(batches[0]).toMatchObject({ outcome: 'running', total: 3, counts: { failed: 1 } });
    expect(batches[0]!.millisecondsLeft).toBeGreaterThan(0);
    expect(batches[0]!.failures).toMatchObject([{ index: 1, error: 'Error: no such file' }]);
    expect(batches[0]!.site).toMatch(/^test\/dashboard\.test\.ts:\d+$/);
    go();
    await all;
    const over = await stateWhere((state) => state.batches[0]?.outcome === 'done');
    expect(over.batches[0]!.counts).toMatchObject({ done: 2, failed: 1, running: 0, loading: 0 });
  });

  it('has the memory of devices, counters of work, and caches', async () => {
    const { devices, counters, caches } = await stateWhere(() => true);
    expect(devices.find(({ device }) => device === 'cpu')!.peak).toBeGreaterThan(0);
    expect(counters.kernels).toBeGreaterThan(20);
    expect(counters.kernelBytes).toBeGreaterThan(0);
    expect(caches.programs.graphs).toBeGreaterThan(2);
  });
});

describe('a recording', () => {
  it('has what streams and threads did, and is not made again at once', async () => {
    await stateWhere(({ recording }) => !recording);
    const recordings = new Recordings(performance.now());
    expect(recordings.record(60_000)).toBe(true);
    await x.exp().sum().compute({ device: 'cpu' });
    await recordings.stop();
    expect(recordings.isOpen).toBe(false);
    const { rows, work, milliseconds } = recordings.last!;
    expect(rows.map(({ label }) => label)).toEqual(expect.arrayContaining(['cpu', 'JavaScript']));
    expect(work.map(({ name }) => name)).toEqual(['reduce_exp_sum']);
    expect(milliseconds).toBeGreaterThan(0);
    for (const { bars } of rows)
      for (const [begin, end] of bars) expect([begin >= 0, end <= 1000]).toEqual([true, true]);
    recordings.offer();
    expect(recordings.isOpen).toBe(true);
    while (recordings.isOpen) await new Promise((resolve) => setTimeout(resolve, 5));
    recordings.offer();
    expect(recordings.isOpen).toBe(false);
  });

  it('stops where it is full, so that calls of microseconds do not pay for all of its time', async () => {
    const step = compile((y: Lazy) => y.mul(0.5).add(1), { device: 'cpu' });
    for (let k = 0; k < 10; k++) await step(new Float32Array(16));
    await stateWhere(({ recording }) => !recording);
    const recordings = new Recordings(performance.now());
    expect(recordings.record(60_000)).toBe(true);
    for (let k = 0; k < 2500; k++) await step(new Float32Array(16));
    await recordings.stop();
    const { work, dropped, rows } = recordings.last!;
    expect([rows.length, work.map(({ count }) => count), dropped]).toEqual([1, [2048], 0]);
  });

  it('is made when it is asked for, and dropped for a profile', async () => {
    expect(JSON.parse((await ask(path('record'), {}, 'POST')).body)).toEqual({ recording: true });
    expect(JSON.parse((await ask(path('record'), {}, 'POST')).body)).toEqual({ recording: false });
    const { timeline } = await profile(x.exp().sum(), { device: 'cpu' });
    expect(timeline.spans.some(({ kind }) => kind === 'kernel')).toBe(true);
  });
});

describe('a dashboard', () => {
  it('is one in a process', async () => {
    expect((await dashboard()).url).toBe(page.url);
    expect((await dashboard({ port: page.port })).url).toBe(page.url);
    const other = page.port === 65_535 ? 65_534 : page.port + 1;
    await expect(dashboard({ port: other })).rejects.toThrow(/expected the port of the one that is open/);
  });

  it('goes on where a browser goes away in the middle', async () => {
    const socket = connect({ host: '127.0.0.1', port: page.port });
    socket.write(`GET ${path('events')} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    await new Promise((resolve) => socket.once('data', resolve));
    socket.resetAndDestroy();
    expect((await x.sum().compute({ device: 'cpu' })).shape).toEqual([]);
    expect((await ask(path(''))).status).toBe(200);
  });

  it.each([-1, 65_536, 1.5, '8787', Number.NaN])('refuses the port %s', async (port) => {
    await expect(dashboard({ port: port as number })).rejects.toThrow(RangeArgumentError);
  });

  it('refuses a setting that is no port', () => {
    expect(() => readConfig({ WEFT_DASHBOARD: 'yes' })).toThrow(/WEFT_DASHBOARD to be an integer from 0/);
    expect(readConfig({ WEFT_DASHBOARD: '8787' }).dashboard).toBe(8787);
  });

  it('names a port that is in use, and opens on another one after that', async () => {
    await page.close();
    const taken = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => taken.once('listening', resolve));
    const { port } = taken.address() as { port: number };
    const refused = dashboard({ port });
    await expect(refused).rejects.toThrow(ArgumentError);
    await expect(refused).rejects.toThrow(
      `[dashboard] expected a port that is free: ${port}: another program uses it`,
    );
    taken.close();
    page = await dashboard();
    expect((await ask(path(''))).status).toBe(200);
  });
});

/** A program of its own; `whenTold` is called with what it has written to stderr, and a function that writes to its stdin. */
function runProgram(
  code: string,
  port: string,
  whenTold: (text: string, tell: () => void) => void = () => undefined,
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const index = fileURLToPath(new URL('../dist/weft/index.js', import.meta.url));
  const source = `const { lazy } = await import(${JSON.stringify(index)});\n${code}`;
  const env = { ...process.env, WEFT_DASHBOARD: port };
  const child = spawn(process.execPath, ['--input-type=module', '--eval', source], { env });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (text) => {
    stdout += text;
  });
  child.stderr.on('data', (text) => {
    stderr += text;
    whenTold(stderr, () => child.stdin.write('\n'));
  });
  return new Promise((resolve) => child.once('close', (status) => resolve({ code: status, stdout, stderr })));
}

describe.concurrent('WEFT_DASHBOARD', () => {
  it('opens one with the first compute, tells pages of the last state, and ends with the program', async () => {
    let events: Promise<string> | undefined;
    const { code, stdout } = await runProgram(
      `await lazy([1, 2]).sum().compute({ device: 'cpu' });
       await new Promise((resolve) => process.stdin.once('data', resolve));
       process.stdin.destroy();
       console.log((await lazy([3, 4]).prod().compute({ device: 'cpu' })).item());`,
      '0',
      (stderr, tell) => {
        const [, url] = /dashboard at (\S+)/.exec(stderr) ?? [];
        if (url === undefined) return;
        events ??= fetch(new URL('events', url)).then((answer) => {
          tell();
          return answer.text();
        });
      },
    );
    expect([code, stdout]).toEqual([0, '12\n']);
    const text = await events!;
    expect(text.trimEnd().endsWith('event: end\ndata: {}')).toBe(true);
    expect(text.slice(text.lastIndexOf('event: state'))).toContain('reduce_prod');
  });

  it('warns of a port that is in use, and the compute goes on', async () => {
    const code = `console.log((await lazy([1, 2]).sum().compute({ device: 'cpu' })).item());`;
    const { code: status, stdout, stderr } = await runProgram(code, String(page.port));
    expect([status, stdout]).toEqual([0, '3\n']);
    expect(stderr).toMatch(
      /WeftWarning: \[dashboard\] expected a port that is free: .*WEFT_DASHBOARD is passed over/,
    );
  });
});
