/**
 * A table and a plot of the lines of `contractions.ts` and `peers-contractions.py`: `node
 * dist/bench/contractions-report.js weft.jsonl torch.jsonl … --plot plot.svg --memory` prints the table, and one of device
 * memory. The plot has a row for each contraction and dtype, and a mark for the time of each peer over Weft's: right of the
 * line, Weft is faster.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { comparisonTable, type Line } from './table.js';

/** Told apart in print, and by people who see fewer colours. */
const COLOURS: Readonly<Record<string, string>> = {
  cupy: '#e08214',
  torch: '#c2185b',
  'torch-compile': '#7b3294',
  jax: '#2e9e5b',
  'weft-tuned': '#2f6fb0',
};
const NAMES = 250;
const WIDTH = 900;
const ROW = 13;
const HEAD = 46;
/** Ratios at the edges of the plot; what is beyond lies on the edge. */
const [LEAST, MOST] = [0.5, 16];
const TICKS = [0.5, 1, 2, 4, 8, 16];

interface Row {
  readonly name: string;
  readonly ratios: readonly { readonly peer: string; readonly ratio: number }[];
}

function rowsOf(lines: readonly Line[]): Row[] {
  const byName = new Map<string, Map<string, number>>();
  for (const { workload, dtype, peer, ms_median } of lines) {
    if (ms_median === undefined) continue;
    const name = `${workload} ${dtype}`;
    const times = byName.get(name) ?? new Map<string, number>();
    byName.set(name, times.set(peer, ms_median));
  }
  return [...byName].flatMap(([name, times]) => {
    const ours = times.get('weft');
    if (ours === undefined) return [];
    const ratios = [...times]
      .filter(([peer]) => peer in COLOURS)
      .map(([peer, ms]) => ({ peer, ratio: ms / ours }));
    return [{ name, ratios }];
  });
}

const xOf = (ratio: number): number => {
  const share = Math.log(Math.min(MOST, Math.max(LEAST, ratio)) / LEAST) / Math.log(MOST / LEAST);
  return Math.round(10 * (NAMES + share * (WIDTH - NAMES - 20))) / 10;
};

const PEERS = ['weft', 'torch', 'torch-compile', 'cupy'];

/** A table of the most device memory held, inputs and results included, in MiB. */
export function memoryTable(lines: readonly Line[]): string {
  const byName = new Map<string, Map<string, number>>();
  for (const { workload, dtype, peer, peak_bytes } of lines) {
    if (peak_bytes === undefined || peak_bytes === null) continue;
    const name = `\`${workload}\` ${dtype}`;
    byName.set(name, (byName.get(name) ?? new Map<string, number>()).set(peer, peak_bytes));
  }
  const rows = [...byName].filter(([, bytes]) => bytes.size > 1 && bytes.has('weft'));
  const cell = (bytes: number | undefined): string =>
    bytes === undefined ? '–' : (bytes / 2 ** 20).toPrecision(3);
  return [
    `| workload | ${PEERS.join(' | ')} |`,
    `|---|${PEERS.map(() => '---:').join('|')}|`,
    ...rows.map(([name, bytes]) => `| ${name} | ${PEERS.map((peer) => cell(bytes.get(peer))).join(' | ')} |`),
  ].join('\n');
}

/** The plot as SVG. */
export function ratioPlot(lines: readonly Line[]): string {
  const rows = rowsOf(lines);
  const height = HEAD + rows.length * ROW + 10;
  const text = (x: number, y: number, content: string, rest = ''): string =>
    `<text x="${x}" y="${y}"${rest}>${content}</text>`;
  const legend = Object.entries(COLOURS).map(
    ([peer, colour], k) =>
      `<circle cx="${NAMES + 110 * k}" cy="12" r="4" fill="${colour}"/>${text(NAMES + 110 * k + 8, 16, peer)}`,
  );
  const ticks = TICKS.map(
    (ratio) =>
      `<line x1="${xOf(ratio)}" x2="${xOf(ratio)}" y1="${HEAD - 8}" y2="${height - 8}" stroke="${ratio === 1 ? '#333' : '#ddd'}"/>${text(xOf(ratio), HEAD - 12, `${ratio}×`, ' text-anchor="middle"')}`,
  );
  const marks = rows.flatMap(({ name, ratios }, k) => {
    const y = HEAD + k * ROW;
    return [
      text(NAMES - 8, y + 8, name, ' text-anchor="end"'),
      ...ratios.map(
        ({ peer, ratio }) => `<circle cx="${xOf(ratio)}" cy="${y + 4}" r="3.5" fill="${COLOURS[peer]}"/>`,
      ),
    ];
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" font-family="sans-serif" font-size="11">`,
    `<title>Times of peers over Weft's: right of the line, Weft is faster</title>`,
    `<rect width="${WIDTH}" height="${height}" fill="white"/>`,
    ...legend,
    ...ticks,
    ...marks,
    '</svg>',
    '',
  ].join('\n');
}

if (process.argv[1]?.endsWith('contractions-report.js')) {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { plot: { type: 'string' }, memory: { type: 'boolean', default: false } },
  });
  if (positionals.length === 0) throw new RangeError('expected files of JSON lines');
  const lines = positionals.flatMap((path) =>
    readFileSync(path, 'utf8')
      .split('\n')
      .filter((text) => text.startsWith('{'))
      .map((text) => JSON.parse(text) as Line),
  );
  console.log(comparisonTable(lines));
  if (values.memory) console.log(`\nMost device memory in MiB:\n\n${memoryTable(lines)}`);
  if (values.plot !== undefined) writeFileSync(values.plot, ratioPlot(lines));
}
