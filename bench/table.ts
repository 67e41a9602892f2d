/**
 * Lines of several peers as a Markdown table, and how Weft stands to the best of the others. Takes the lines
 * of both benchmarks, Weft's and the peers'; called by `compare.ts`.
 */
import { median } from './statistics.js';

/** The fields that are read of a line; all peers write these fields. */
export interface Line {
  readonly workload: string;
  readonly peer: string;
  readonly dtype?: string;
  readonly shape?: readonly number[];
  readonly setup?: string;
  readonly ms_median?: number;
  readonly seconds_median?: number;
  readonly checksum?: number | null;
  readonly peak_bytes?: number | null;
  readonly error?: string;
}

/** Peers whose names begin with it are Weft with other options. */
const OURS = 'weft';
/** Not a competitor: what the machine itself can do. */
const LIMIT = 'limit';

const msOf = (line: Line): number | undefined =>
  line.ms_median ?? (line.seconds_median === undefined ? undefined : line.seconds_median * 1e3);

const columnOf = ({ peer, setup }: Line): string => (setup === 'tuned' ? `${peer} (tuned)` : peer);

/** One workload at one size: the best line of each column. */
interface Row {
  readonly workload: string;
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly best: Map<string, Line>;
}

/** Three significant digits of milliseconds, or microseconds below 0.1 ms. */
export function formatMs(ms: number): string {
  const [value, unit] = ms < 0.1 ? [ms * 1e3, ' µs'] : [ms, ''];
  return `${value >= 100 ? value.toFixed(0) : value.toPrecision(3)}${unit}`;
}

function rowsOf(lines: readonly Line[]): Row[] {
  const rows = new Map<string, Row>();
  for (const line of lines) {
    const { workload, dtype = '-', shape = [] } = line;
    if (workload.startsWith('machine:')) continue;
    const key = [workload, dtype, shape.join('x')].join(' ');
    const row = rows.get(key) ?? { workload, dtype, shape, best: new Map() };
    rows.set(key, row);
    const known = row.best.get(columnOf(line));
    const better = known === undefined || (msOf(line) ?? Infinity) < (msOf(known) ?? Infinity);
    if (better) row.best.set(columnOf(line), line);
  }
  return [...rows.values()].filter(({ best }) => [...best.values()].some((line) => msOf(line) !== undefined));
}

/** The shortest time of the others; undefined: nobody else has one. */
function bestOther(row: Row): number | undefined {
  const times = [...row.best.values()]
    .filter(({ peer }) => !peer.startsWith(OURS) && peer !== LIMIT)
    .flatMap((line) => msOf(line) ?? []);
  return times.length === 0 ? undefined : Math.min(...times);
}

function cellsOf(row: Row, columns: readonly string[]): string[] {
  const others = bestOther(row);
  const ours = row.best.get(OURS);
  const ourMs = ours === undefined ? undefined : msOf(ours);
  const least = Math.min(others ?? Infinity, ourMs ?? Infinity);
  const cells = columns.map((column) => {
    const line = row.best.get(column);
    if (line === undefined) return '–';
    const ms = msOf(line);
    if (ms === undefined) return 'error';
    return ms === least ? `**${formatMs(ms)}**` : formatMs(ms);
  });
  const ratio = ourMs === undefined || others === undefined ? '–' : (ourMs / others).toFixed(2);
  return [`\`${row.workload}\``, `${row.shape.join('×')} ${row.dtype}`, ...cells, ratio];
}

/**
 * CPU benchmarks feed every peer the same numbers, so their checksums must agree; those of the GPU peers are
 * each peer's own random numbers.
 */
function notesOf(row: Row): string[] {
  const lines = [...row.best.values()];
  const errors = lines.flatMap((line) =>
    line.error === undefined ? [] : [`- \`${row.workload}\` ${row.dtype}, ${columnOf(line)}: ${line.error}`],
  );
  const sums = lines.flatMap((line) =>
    line.seconds_median !== undefined && typeof line.checksum === 'number'
      ? [{ line, sum: line.checksum }]
      : [],
  );
  const usual = sums.length === 0 ? 0 : median(sums.map(({ sum }) => sum));
  const odd = sums.filter(({ sum }) => !(Math.abs(sum - usual) <= 1e-5 * Math.abs(usual)));
  return [
    ...errors,
    ...odd.map(
      ({ line, sum }) =>
        `- \`${row.workload}\` ${row.dtype}, ${columnOf(line)}: checksum ${sum}, median of all ${usual}`,
    ),
  ];
}

/**
 * Markdown: a row for each workload, a column for each peer, Weft first, its time over the best other's last.
 */
export function comparisonTable(lines: readonly Line[]): string {
  const rows = rowsOf(lines);
  const found = [...new Set(rows.flatMap(({ best }) => [...best.keys()]))];
  const rank = (column: string): number => (column === OURS ? 0 : column === LIMIT ? 2 : 1);
  const columns = found.sort((a, b) => rank(a) - rank(b));
  const header = ['workload', 'shape', ...columns, 'weft / best other'];
  const toLine = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const notes = rows.flatMap(notesOf);
  return [
    'Median time in milliseconds (µs where said); of several runs the best. Bold: the best.',
    '',
    toLine(header),
    `|---|---|${'---:|'.repeat(columns.length + 1)}`,
    ...rows.map((row) => toLine(cellsOf(row, columns))),
    ...(notes.length === 0 ? [] : ['', ...notes]),
    '',
  ].join('\n');
}
