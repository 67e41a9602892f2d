/** Charts as SVG: lines, dots and bars with two axes. Nothing here is part of Weft; Observable Plot does more. */

export interface Series {
  readonly x: ArrayLike<number>;
  readonly y: ArrayLike<number>;
  readonly mark: 'line' | 'dots' | 'bars';
  readonly color: string;
  readonly name?: string;
}

export interface ChartOptions {
  readonly title: string;
  readonly x: string;
  readonly y: string;
  /** Both axes begin and end at the data's ends, or at these. */
  readonly xRange?: readonly [number, number];
  readonly yRange?: readonly [number, number];
}

const [WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM] = [480, 320, 58, 30, 14, 40];

/** A number with no more digits than a picture shows. */
const px = (value: number): string => `${Math.round(value * 10) / 10}`;

/** The least and the largest of all numbers. */
function endsOf(lists: readonly ArrayLike<number>[]): [number, number] {
  let [low, high] = [Infinity, -Infinity];
  for (const list of lists)
    for (let k = 0; k < list.length; k++) [low, high] = [Math.min(low, list[k]!), Math.max(high, list[k]!)];
  return [low, high];
}

/** Round numbers between two ends, about five. */
function marks([low, high]: readonly [number, number]): number[] {
  const power = 10 ** Math.floor(Math.log10((high - low) / 5));
  const step = power * [1, 2, 5, 10].find((factor) => (high - low) / (factor * power) <= 6)!;
  const first = Math.ceil(low / step - 1e-9);
  return Array.from({ length: Math.floor(high / step + 1e-9) - first + 1 }, (_, k) =>
    Number(((first + k) * step).toPrecision(8)),
  );
}

/** The picture of some series over the same axes. */
export function chart(series: readonly Series[], options: ChartOptions): string {
  const xs = options.xRange ?? endsOf(series.map(({ x }) => x));
  const ys = options.yRange ?? endsOf(series.map(({ y }) => y));
  const right = (x: number): number => LEFT + ((x - xs[0]) / (xs[1] - xs[0])) * (WIDTH - LEFT - RIGHT);
  const down = (y: number): number =>
    HEIGHT - BOTTOM - ((y - ys[0]) / (ys[1] - ys[0])) * (HEIGHT - TOP - BOTTOM);
  const text = (x: number, y: number, anchor: string, content: string | number, fill = '#475569'): string =>
    `<text x="${px(x)}" y="${px(y)}" text-anchor="${anchor}" fill="${fill}">${content}</text>`;
  const drawn = series.map(({ x, y, mark, color }) => {
    const points = Array.from({ length: x.length }, (_, k) => [right(x[k]!), down(y[k]!)] as const);
    if (mark === 'line')
      return `<path fill="none" stroke="${color}" stroke-width="1.6" d="M${points.map(([a, b]) => `${px(a)},${px(b)}`).join('L')}"/>`;
    if (mark === 'dots')
      return `<g fill="${color}">${points.map(([a, b]) => `<circle cx="${px(a)}" cy="${px(b)}" r="2.4"/>`).join('')}</g>`;
    const wide = ((WIDTH - LEFT - RIGHT) / (points.length + 1)) * 0.8;
    const zero = down(Math.max(0, ys[0]));
    return `<g fill="${color}">${points.map(([a, b]) => `<rect x="${px(a - wide / 2)}" y="${px(Math.min(b, zero))}" width="${px(wide)}" height="${px(Math.abs(zero - b))}"/>`).join('')}</g>`;
  });
  const named = series.filter(({ name }) => name !== undefined);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${HEIGHT}" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="ui-sans-serif, system-ui, sans-serif" font-size="11">`,
    `<title>${options.title}</title>`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#ffffff"/>`,
    text(LEFT, 18, 'start', options.title, '#0f172a'),
    `<path fill="none" stroke="#cbd5e1" d="M${LEFT},${TOP}V${HEIGHT - BOTTOM}H${WIDTH - RIGHT}"/>`,
    ...marks(xs).map((x) => text(right(x), HEIGHT - BOTTOM + 15, 'middle', x)),
    ...marks(ys).map((y) => text(LEFT - 6, down(y) + 4, 'end', y)),
    text(WIDTH - RIGHT, HEIGHT - 8, 'end', options.x),
    text(LEFT - 6, TOP - 6, 'end', options.y),
    ...drawn,
    ...named.map(({ name, color }, k) => text(WIDTH - RIGHT, TOP + 14 * k, 'end', name!, color)),
    '</svg>',
    '',
  ].join('\n');
}
