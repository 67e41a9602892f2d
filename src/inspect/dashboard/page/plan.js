/** The plan of a program: its steps and the buffers between them as a graph; of the chosen step, the kernel. */
import { byId, html, set, svg } from './elements.js';
import { bytes, plural } from './format.js';

/** @import { PageProgram } from '../state.js' */

const BOX = 226;
const TALL = 42;
const LOW = 26;
const GAP = 34;
const MARGIN = 4;

/** @type {{ program: number, step: number } | undefined} */
let chosen;

/** @param {PageProgram} program */
export function drawPlan(program) {
  const { id, title, steps, devices, peakBytes, count } = program;
  const parent = byId('plan-body');
  const about = [
    html('h3', {}, title),
    html(
      'p',
      { class: 'quiet' },
      `${plural(count, 'step')} on ${devices.join(', ')}, holds up to ${bytes(peakBytes)} of a device`,
    ),
  ];
  if (steps.length === 0) {
    const many = `It has too many steps to draw here: explain() lists all of them.`;
    parent.replaceChildren(
      ...about,
      html('p', { class: 'empty' }, count === 0 ? 'There is nothing to run.' : many),
    );
    return;
  }
  const detail = html('div', { class: 'step-detail', 'aria-live': 'polite' });
  const choose = (/** @type {number} */ step) => {
    chosen = { program: id, step };
    for (const node of parent.querySelectorAll('.node.step'))
      set(node, { 'aria-pressed': String(Number(node.getAttribute('data-step')) === step) });
    drawStep(detail, program, step);
  };
  const graph = html(
    'div',
    { class: 'scroll', role: 'group', 'aria-label': 'The plan as a graph' },
    drawGraph(program, choose),
  );
  parent.replaceChildren(...about, graph, detail);
  choose(chosen?.program === id ? chosen.step : 0);
}

/**
 * @param {PageProgram} program
 * @param {(step: number) => void} choose
 */
function drawGraph({ nodes, edges, steps, width: inner, layers }, choose) {
  const width = inner + 2 * MARGIN;
  const height = layers * (TALL + GAP) - GAP + 2 * MARGIN;
  const lines = edges.map(({ layer, route, buffer }) =>
    svg(
      'path',
      { class: 'edge', 'marker-end': 'url(#arrow)', d: pathThrough(layer, route) },
      svg('title', {}, buffer),
    ),
  );
  const boxes = nodes.map((node) =>
    drawNode(node, node.step === undefined ? undefined : steps[node.step], choose),
  );
  const arrow = svg(
    'marker',
    { id: 'arrow', viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: 'auto' },
    svg('path', { d: 'M0,0L8,4L0,8Z' }),
  );
  return svg(
    'svg',
    { width, height, viewBox: `0 0 ${width} ${height}` },
    svg('defs', {}, arrow),
    ...lines,
    ...boxes,
  );
}

/** The upper edge of a layer. @param {number} layer */
const topOf = (layer) => MARGIN + layer * (TALL + GAP);

/**
 * A curve from the lower edge of a layer to the upper edge of another, straight down through those between.
 * @param {number} first
 * @param {readonly number[]} route
 */
function pathThrough(first, route) {
  return route
    .map((centre, k) => {
      const x = centre + MARGIN;
      const isLast = k === route.length - 1;
      const before = route[k - 1];
      if (before === undefined) return `M${x},${topOf(first) + TALL}`;
      const y0 = topOf(first + k) - GAP;
      const y1 = topOf(first + k) - (isLast ? 2 : 0);
      const half = (y1 - y0) / 2;
      const down = isLast ? '' : `V${topOf(first + k) + TALL}`;
      return `C${before + MARGIN},${y0 + half} ${x},${y1 - half} ${x},${y1}${down}`;
    })
    .join('');
}

/** @param {string} text */
const short = (text) => (text.length > 34 ? `${text.slice(0, 33)}…` : text);

/**
 * @param {PageProgram['nodes'][number]} node
 * @param {PageProgram['steps'][number] | undefined} step
 * @param {(step: number) => void} choose
 */
function drawNode({ kind, label, step: number, layer, centre }, step, choose) {
  // Inputs stand at the lower edge of their layer, results at the upper one: edges reach their boxes.
  const height = kind === 'step' ? TALL : LOW;
  const y = topOf(layer) + (kind === 'input' ? TALL - LOW : 0);
  const x = centre + MARGIN - BOX / 2;
  const [title = ''] = step === undefined ? [label] : [step.name];
  const traffic = step === undefined ? '' : `${bytes(step.bytesRead)} in, ${bytes(step.bytesWritten)} out`;
  const isLibrary = step !== undefined && step.kind !== 'kernel';
  const middle = x + BOX / 2;
  const group = svg(
    'g',
    { class: `node ${kind}${isLibrary ? ' library' : ''}` },
    svg('rect', { x, y, width: BOX, height, rx: kind === 'step' ? 7 : 13 }),
    svg('text', { x: middle, y: y + (step === undefined ? 17 : 18), 'text-anchor': 'middle' }, short(title)),
    svg('title', {}, `${title}${traffic === '' ? '' : `: ${traffic}`}`),
  );
  if (step === undefined || number === undefined) return group;
  group.append(svg('text', { class: 'quiet', x: middle, y: y + 33, 'text-anchor': 'middle' }, traffic));
  set(group, {
    tabindex: 0,
    role: 'button',
    'aria-label': `step ${number}: ${title}, ${traffic}`,
    'aria-pressed': 'false',
    'data-step': number,
  });
  group.addEventListener('click', () => choose(number));
  group.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' && event.key !== ' ') return;
    event.preventDefault();
    choose(number);
  });
  return group;
}

/**
 * @param {HTMLElement} parent
 * @param {PageProgram} program
 * @param {number} number
 */
function drawStep(parent, { steps }, number) {
  const step = steps[number];
  if (step === undefined) return;
  const { name, text, source, sweep, loop, phase, bytesRead, bytesWritten } = step;
  const about = [
    `${bytes(bytesRead)} read, ${bytes(bytesWritten)} written`,
    ...(sweep === undefined ? [] : [`in ${plural(sweep.tiles, 'tile')} of sweep ${sweep.number}`]),
    ...(loop === undefined ? [] : [`in loop ${loop.number} (${loop.count})`]),
    ...(phase === undefined ? [] : [`phase ${phase.number} on ${phase.devices.join(', ')}`]),
  ];
  const code = (/** @type {string} */ shown, /** @type {string} */ name) =>
    html('pre', { tabindex: 0, role: 'region', 'aria-label': name }, shown);
  parent.replaceChildren(
    html('h3', {}, `Step ${number}: ${name}`),
    html('p', { class: 'quiet' }, about.join(', ')),
    code(text.trimEnd(), `the kernel ${name}`),
    ...(source === undefined
      ? []
      : [
          html('details', {}, html('summary', {}, 'Generated CUDA C'), code(source, `the source of ${name}`)),
        ]),
  );
}
