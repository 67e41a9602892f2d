/** Processor times of runs, least of several, and a table of such lines beside those of peers. */
import { readFileSync } from 'node:fs';
import { toPrecision } from './statistics.js';

const processorMs = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

/**
 * Runs, of up to a second together, after which results lie in memory of earlier ones, as NumPy's do, which frees them at once:
 * P, L and U of 1,000² take 40 ms more in memory that the system has just handed out.
 */
const LEAST_RUNS = 12;

/** Milliseconds of the runs whose processor time is read at once. */
const TOGETHER_MS = 20;

/**
 * What a thread of another processor has used is counted when it sleeps, or at a tick of the system, 4 ms apart: read at once,
 * the processor time of a solution of 500 rows was 0.06 ms for 2.4.
 */
const settled = (): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, 1);
  });

/** The least processor time and the least time of runs that take `seconds` together, or a second where those are few. */
export async function measure(run: () => Promise<unknown>, seconds: number) {
  await run();
  let [processor, elapsed] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  let together = 1;
  const begin = performance.now();
  const leastMs = (k: number): number => 1000 * Math.max(seconds, k < LEAST_RUNS ? 1 : 0);
  for (let k = 0; k < 3 || performance.now() - begin < leastMs(k); ) {
    await settled();
    const before = processorMs();
    for (let each = 0; each < together; each++) {
      const at = performance.now();
      await run();
      elapsed = Math.min(elapsed, performance.now() - at);
    }
    await settled();
    processor = Math.min(processor, (processorMs() - before) / together);
    k += together;
    together = Math.max(1, Math.ceil(TOGETHER_MS / elapsed));
  }
  return { cpu_ms: toPrecision(processor, 4), ms: toPrecision(elapsed, 4) };
}

interface Line {
  readonly function: string;
  readonly size: string;
  readonly dtype: string;
  readonly peer: string;
  readonly cpu_ms: number;
}

/** In Markdown, a row for each function and size, a column for each peer: milliseconds. */
export function table(files: readonly string[]): string {
  const lines = files.flatMap((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Line),
  );
  const peers = [...new Set(lines.map(({ peer }) => peer))];
  const rows = new Map<string, Map<string, number>>();
  for (const { function: name, size, dtype, peer, cpu_ms } of lines) {
    const key = `${name}, ${size}², ${dtype}`;
    const row = rows.get(key) ?? new Map<string, number>();
    rows.set(key, row.set(peer, Math.min(cpu_ms, row.get(peer) ?? Number.POSITIVE_INFINITY)));
  }
  return [
    `| | ${peers.join(' | ')} |`,
    `|---|${peers.map(() => '---:|').join('')}`,
    ...[...rows].map(([key, row]) => `| ${key} | ${peers.map((peer) => row.get(peer) ?? '–').join(' | ')} |`),
  ].join('\n');
}
