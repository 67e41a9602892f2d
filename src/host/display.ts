/**
 * How objects show themselves: as text in `util.inspect` (Node.js, Bun, Deno), and as MIME bundles in notebooks, by the
 * symbols that those look for. Called by the classes that users print.
 */

/** The method that `util.inspect` and `console.log` call. */
export const INSPECT = Symbol.for('nodejs.util.inspect.custom');

/** The method that notebooks of Deno's Jupyter kernel call; it gives a MIME bundle, or a promise of one. */
export const DISPLAY = Symbol.for('Jupyter.display');

/** Representations of one value by their MIME type; a notebook shows the richest that it can. */
export type MimeBundle = Readonly<Record<string, string>>;

/** Options of `util.inspect` that displays look at. */
export interface InspectOptions {
  /** Levels of objects to show in all; null: all of them. */
  readonly depth?: number | null | undefined;
  /** Characters of a line; `Infinity`: all in one line. */
  readonly breakLength?: number | undefined;
  /** `true`: in one line where that is no longer than `breakLength`. */
  readonly compact?: boolean | number | undefined;
  readonly stylize?: ((text: string, style: string) => string) | undefined;
}

/** The depth that `util.inspect` has left: below 0 an object is named only. */
export const isTooDeep = (depth: unknown): boolean => typeof depth === 'number' && depth < 0;

/** How many objects an object is in that is shown with some depth left; unlimited depth does not tell. */
export const levelOf = (depth: unknown, options: InspectOptions): number =>
  typeof depth === 'number' && Number.isFinite(depth) ? Math.max(0, (options.depth ?? depth) - depth) : 0;

/** An object that is too deep to be shown, in brackets as Node.js has them. */
export const named = (text: string, { stylize }: InspectOptions): string =>
  stylize === undefined ? `[${text}]` : stylize(`[${text}]`, 'special');

/** Lines are folded for screens narrower than this, the default of `breakLength`. */
const USUAL_WIDTH = 80;
const LEAST_WIDTH = 20;

/** Text with its lines folded at blanks to the width of a narrow screen, what follows indented. */
export function folded(text: string, { breakLength = USUAL_WIDTH }: InspectOptions): string {
  if (!(breakLength < USUAL_WIDTH)) return text;
  const width = Math.max(breakLength, LEAST_WIDTH);
  return text
    .split('\n')
    .flatMap((line) => foldedLine(line, width))
    .join('\n');
}

function foldedLine(line: string, width: number): string[] {
  const indent = `${/^ */.exec(line)![0].slice(0, LEAST_WIDTH / 2)}  `;
  const lines: string[] = [];
  let rest = line;
  while (rest.length > width) {
    const blank = rest.lastIndexOf(' ', width);
    const isInside = blank > indent.length;
    lines.push(rest.slice(0, isInside ? blank : width));
    rest = `${indent}${rest.slice(isInside ? blank + 1 : width)}`;
  }
  return [...lines, rest];
}

/** Text as HTML and SVG have it, also between quotes. */
export const escaped = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');

/** A table of texts, which are escaped; the first cell of each row heads it. Numbers stand to the right. */
export function htmlTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  align: 'left' | 'right' = 'left',
): string {
  const head = header.map((text) => `<th>${escaped(text)}</th>`).join('');
  const body = rows.map(([first = '', ...cells]) => {
    const others = cells.map((text) => `<td>${escaped(text)}</td>`).join('');
    return `<tr><th>${escaped(first)}</th>${others}</tr>`;
  });
  const top = header.length === 0 ? '' : `<thead><tr>${head}</tr></thead>`;
  return `<table style="text-align:${align}">${top}<tbody>${body.join('')}</tbody></table>`;
}
