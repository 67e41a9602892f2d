/** The plan of a program: its steps and the buffers between them as a graph; of the chosen step, the kernel. */
import { byId, html, set, svg } from './elements.js';
import { bytes, plural } from './format.js';
import { layersOf } from './layers.js';

/** @import { PageProgram } from '../state.js' */

const BOX = 190;
const TALL = 42;
const LOW = 26;
const GAP_X = 18;
const GAP_Y = 34;

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
function drawGraph({ nodes, edges, steps }, choose) {
  const layers = layersOf(
    nodes.map(({ id }) => id),
    edges,
  );
  const widest = Math.max(...layers.map((layer) => layer.length));
  const width = widest * (BOX + GAP_X);
  const kinds = new Map(nodes.map((node) => [node.id, node]));
  /** @type {Map<string, { x: number, y: number, height: number }>} */
  const places = new Map();
  let y = 4;
  for (const layer of layers) {
    const height = Math.max(...layer.map((id) => (kinds.get(id)?.kind === 'step' ? TALL : LOW)));
    const first = (width - layer.length * (BOX + GAP_X)) / 2 + GAP_X / 2;
    for (const [k, id] of layer.entries()) {
      const own = kinds.get(id)?.kind === 'step' ? TALL : LOW;
      places.set(id, { x: first + k * (BOX + GAP_X), y: y + (height - own) / 2, height: own });
    }
    y += height + GAP_Y;
  }
  const height = y - GAP_Y + 4;
  const lines = edges.map(({ from, to, buffer }) => {
    const [a, b] = [places.get(from), places.get(to)];
    if (a === undefined || b === undefined) return svg('g');
    const [x1, y1, x2, y2] = [a.x + BOX / 2, a.y + a.height, b.x + BOX / 2, b.y - 2];
    const bend = (y2 - y1) / 2;
    return svg(
      'path',
      {
        class: 'edge',
        'marker-end': 'url(#arrow)',
        d: `M${x1},${y1}C${x1},${y1 + bend} ${x2},${y2 - bend} ${x2},${y2}`,
      },
      svg('title', {}, buffer),
    );
  });
  const boxes = nodes.map((node) => {
    const place = /** @type {{ x: number, y: number, height: number }} */ (places.get(node.id));
    return drawNode(node, place, node.step === undefined ? undefined : steps[node.step], choose);
  });
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

/** @param {string} text */
const short = (text) => (text.length > 28 ? `${text.slice(0, 27)}…` : text);

/**
 * @param {PageProgram['nodes'][number]} node
 * @param {{ x: number, y: number, height: number }} place
 * @param {PageProgram['steps'][number] | undefined} step
 * @param {(step: number) => void} choose
 */
function drawNode({ kind, label, step: number }, { x, y, height }, step, choose) {
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
