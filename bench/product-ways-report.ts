/**
 * A table of the lines of `product-ways.ts`: microseconds of each way, in bold the least, and the time of the way that Weft
 * chooses over it. `node dist/bench/product-ways-report.js ways.jsonl`
 */
import { readFileSync } from 'node:fs';

interface Line {
  readonly equation: string;
  readonly sizes: Readonly<Record<string, number>>;
  readonly dtype: string;
  readonly way: string;
  readonly ms_median?: number;
}

const WAYS = ['plain', 'calls', 'copies', 'cutensor'] as const;

function waysTable(lines: readonly Line[]): string {
  const rows = new Map<string, Map<string, number>>();
  for (const { equation, sizes, dtype, way, ms_median } of lines) {
    const of = Object.entries(sizes).map(([label, size]) => `${label} ${size}`);
    const name = `\`${equation}\` | ${of.join(', ')} | ${dtype}`;
    const times = rows.get(name) ?? new Map<string, number>();
    if (ms_median !== undefined) times.set(way, ms_median * 1e3);
    rows.set(name, times);
  }
  const line = ([name, times]: [string, Map<string, number>]): string => {
    const least = Math.min(...WAYS.slice(1).map((way) => times.get(way) ?? Number.POSITIVE_INFINITY));
    const cells = WAYS.map((way) => {
      const time = times.get(way);
      if (time === undefined) return '–';
      const text = time >= 100 ? time.toFixed(0) : time.toPrecision(3);
      return time === least ? `**${text}**` : text;
    });
    const chosen = times.get('chosen');
    return `| ${name} | ${cells.join(' | ')} | ${chosen === undefined ? '–' : (chosen / least).toFixed(2)} |`;
  };
  return [
    `| equation | sizes | dtype | ${WAYS.join(' | ')} | chosen / least |`,
    `|---|---|---|${WAYS.map(() => '---:').join('|')}|---:|`,
    ...[...rows].map(line),
  ].join('\n');
}

const [path] = process.argv.slice(2);
if (path === undefined) throw new RangeError('expected a file of JSON lines');
const text = readFileSync(path, 'utf8').trim().split('\n');
console.log(waysTable(text.map((each) => JSON.parse(each) as Line)));
