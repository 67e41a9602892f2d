/** Devices with the memory that is held against what may be held, and caches. */
import { byId, each, html, part, say, set } from './elements.js';
import { bytes, plural } from './format.js';
import { drawSpark, Series, spark } from './history.js';

/** @import { CacheState, DashboardState, DeviceState } from '../state.js' */

/** @type {Map<string, Series>} */
const histories = new Map();

/** @param {string} device */
function historyOf(device) {
  const known = histories.get(device) ?? new Series();
  histories.set(device, known);
  return known;
}

const make = () =>
  html(
    'article',
    { class: 'device' },
    html('h3', { 'data-part': 'name' }),
    spark(),
    html('p', { class: 'quiet wide', 'data-part': 'model' }),
    html(
      'div',
      { class: 'meter wide', 'data-part': 'meter', role: 'meter' },
      html('span', { class: 'held' }),
      html('span', { class: 'used' }),
      html('span', { class: 'mark' }),
    ),
    html('p', { class: 'facts quiet wide', 'data-part': 'facts' }),
  );

/** @param {DashboardState} state */
export function showDevices({ devices }) {
  const parent = byId('device-list');
  parent.querySelector('.empty')?.remove();
  each(parent, devices, ({ device }) => device, make, draw);
  if (devices.length === 0) parent.append(html('p', { class: 'empty' }, 'No device was used yet.'));
}

/**
 * @param {HTMLElement} element
 * @param {DeviceState} state
 */
function draw(element, state) {
  const { device, model, totalBytes, inUse, held, peak, pinned, limit, budget } = state;
  say(part(element, 'name'), device);
  say(part(element, 'model'), model);
  const history = historyOf(device);
  history.add(inUse);
  drawSpark(/** @type {Element} */ (element.querySelector('.spark')), history);
  // Of a small budget on a large device, the bar is of what matters.
  const bound = limit ?? totalBytes;
  const most = budget === undefined ? (bound ?? held) : Math.max(1.25 * budget, held);
  const whole = Math.max(1, Math.min(most, bound === undefined ? most : Math.max(bound, held)));
  const meter = part(element, 'meter');
  const [heldBar, usedBar, mark] = /** @type {HTMLElement[]} */ ([...meter.children]);
  const share = (/** @type {number} */ value) => `${Math.min(100, (100 * value) / whole)}%`;
  if (heldBar) heldBar.style.width = share(held);
  if (usedBar) usedBar.style.width = share(inUse);
  if (mark) {
    mark.style.display = budget === undefined ? 'none' : '';
    mark.style.left = `calc(${share(budget ?? 0)} - 1px)`;
  }
  const of = bound === undefined ? '' : ` of ${bytes(bound)}`;
  set(meter, {
    'aria-label': `memory in use on ${device}`,
    'aria-valuemin': 0,
    'aria-valuemax': Math.round(whole),
    'aria-valuenow': Math.round(Math.min(inUse, whole)),
    'aria-valuetext': `${bytes(inUse)} in use${of}`,
    class: bound !== undefined && inUse > bound ? 'meter wide over' : 'meter wide',
  });
  /** @type {(readonly [key: string, text: string])[]} */
  const lines = [
    ['used', `${bytes(inUse)} in use`],
    ['held', `${bytes(held - Math.min(held, inUse))} kept for reuse`],
    ['mark', budget === undefined ? '' : `${bytes(budget)} budget of a compute`],
    [
      '',
      limit === undefined
        ? totalBytes === undefined
          ? ''
          : `${bytes(totalBytes)} in all`
        : `${bytes(limit)} limit`,
    ],
    ['', `peak ${bytes(peak)}`],
    ['', pinned > 0 ? `${bytes(pinned)} pinned` : ''],
  ];
  each(
    part(element, 'facts'),
    lines.filter(([, text]) => text !== ''),
    ([key, text]) => key || text.replace(/^[\d.]+ \w+ /, ''),
    ([key]) => html('span', {}, ...(key === '' ? [] : [html('span', { class: `key ${key}` })]), html('span')),
    (line, [, text]) => say(/** @type {Element} */ (line.lastElementChild), text),
  );
}

/**
 * @param {CacheState} caches
 * @returns {(readonly [name: string, value: string])[]}
 */
function cacheLines({ programs, kernels, disk }) {
  const { inMemory, memoryHits, diskHits, compiles } = kernels;
  const asked = memoryHits + diskHits + compiles;
  const onDisk = disk && `${disk.images}, ${bytes(disk.byteLength)} of ${bytes(disk.byteLimit)}`;
  return [
    ['Plans', `${programs.graphs} of ${programs.most} graphs, ${plural(programs.nodes, 'node')}`],
    ['Kernels in memory', String(inMemory)],
    [
      'Kernels asked for',
      asked === 0 ? 'none yet' : `${memoryHits} from memory, ${diskHits} from disk, ${compiles} compiled`,
    ],
    ['Kernels on disk', onDisk ?? 'turned off'],
    ['Folder', disk?.path ?? '–'],
  ];
}

/** @param {DashboardState} state */
export function showCaches({ caches, devices }) {
  const kept = devices.reduce((sum, { held, inUse }) => sum + Math.max(0, held - inUse), 0);
  const pinned = devices.reduce((sum, device) => sum + device.pinned, 0);
  /** @type {(readonly [string, string])[]} */
  const lines = [...cacheLines(caches), ['Memory pools', `${bytes(kept)} kept, ${bytes(pinned)} pinned`]];
  each(
    byId('cache-list'),
    lines.flatMap(([name, value]) => [
      /** @type {const} */ (['dt', name, name]),
      /** @type {const} */ (['dd', name, value]),
    ]),
    ([tag, name]) => `${tag} ${name}`,
    ([tag]) => html(tag),
    (element, [, , text]) => say(element, text),
  );
}
