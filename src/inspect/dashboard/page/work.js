/** Batches and computes under way, and the computes that are over. */
import { byId, each, html, part, say, set } from './elements.js';
import { bytes, percent, plural, time } from './format.js';

/** @import { ActiveCompute, BatchState, DashboardState, EndedCompute } from '../state.js' */

/** Batches that are over stay among what runs for so many, the newest ones. */
const OVER = 3;

const bar = () =>
  html('div', { class: 'bar wide', 'data-part': 'bar', role: 'progressbar' }, html('span'), html('span'));

/**
 * @param {HTMLElement} element
 * @param {string} label
 * @param {number | undefined} share
 * @param {number} [failed] The share that failed.
 */
function drawBar(element, label, share, failed = 0) {
  const [done, wrong] = /** @type {[HTMLElement, HTMLElement]} */ ([...element.children]);
  const value = share === undefined ? undefined : Math.floor(100 * share);
  set(element, {
    class: share === undefined ? 'bar wide unknown' : 'bar wide',
    'aria-label': label,
    'aria-valuemin': share === undefined ? undefined : 0,
    'aria-valuemax': share === undefined ? undefined : 100,
    'aria-valuenow': value,
  });
  done.style.width = share === undefined ? '' : `${100 * share}%`;
  wrong.className = 'failed';
  wrong.style.display = failed > 0 ? '' : 'none';
  wrong.style.width = `${100 * failed}%`;
  wrong.style.left = share === undefined ? '' : `${100 * (share - failed)}%`;
}

/** @param {(program: number) => void} select */
export function showWork(select) {
  const make = () =>
    html(
      'article',
      { class: 'work' },
      html('h3', { 'data-part': 'title' }),
      html('p', { class: 'left', 'data-part': 'left' }),
      bar(),
      html('p', { class: 'facts quiet wide', 'data-part': 'facts' }),
      html('div', { class: 'wide', 'data-part': 'errors' }),
    );
  const makeCompute = () => {
    const element = make();
    const button = html('button', { type: 'button', class: 'plain', 'data-part': 'name' });
    button.addEventListener('click', () => select(Number(element.dataset.program)));
    part(element, 'title').append(button);
    return element;
  };
  /** @param {DashboardState} state */
  return ({ active, batches }) => {
    const isOpen = (/** @type {BatchState} */ { outcome }) => outcome === 'running';
    const over = batches.filter((batch) => !isOpen(batch)).slice(0, OVER);
    /** @type {(ActiveCompute | BatchState)[]} */
    const items = [...batches.filter(isOpen), ...active, ...over];
    const parent = byId('active');
    parent.querySelector('.empty')?.remove();
    each(
      parent,
      items,
      (item) => `${'counts' in item ? 'batch' : 'compute'} ${item.id}`,
      (item) => ('counts' in item ? make() : makeCompute()),
      (element, item) => ('counts' in item ? drawBatch(element, item) : drawCompute(element, item)),
    );
    if (items.length === 0) parent.append(html('p', { class: 'empty' }, 'Nothing runs now.'));
  };
}

/**
 * @param {HTMLElement} element
 * @param {ActiveCompute} compute
 */
function drawCompute(element, compute) {
  const { title, stage, share, milliseconds, millisecondsLeft, progress } = compute;
  element.dataset.program = String(compute.program ?? '');
  const name = part(element, 'name');
  say(name, title);
  set(name, { disabled: compute.program === undefined });
  const isGuess = progress === undefined && share !== undefined;
  const left = millisecondsLeft === undefined ? '' : `${isGuess ? '≈ ' : ''}${time(millisecondsLeft)} left`;
  say(part(element, 'left'), stage === 'planning' ? 'planning' : left || time(milliseconds));
  drawBar(part(element, 'bar'), `progress of ${title}`, share);
  const tiles =
    progress === undefined
      ? []
      : [`${percent(share ?? 0)}, ${progress.tiles} of ${plural(progress.totalTiles, 'tile')}`];
  const copied =
    progress === undefined || progress.totalBytes === 0
      ? []
      : [`${bytes(progress.bytes)} of ${bytes(progress.totalBytes)} copied`];
  facts(element, [
    ...tiles,
    ...copied,
    `${time(milliseconds)} so far`,
    compute.devices.join(', '),
    heldOf(compute),
    compute.site ?? '',
  ]);
}

/** @param {ActiveCompute | EndedCompute} compute */
function heldOf({ budget, peakBytes }) {
  if (peakBytes === undefined || peakBytes === 0) return '';
  return budget === undefined
    ? `holds up to ${bytes(peakBytes)}`
    : `holds up to ${bytes(peakBytes)} of ${bytes(budget)} allowed`;
}

/**
 * @param {HTMLElement} element
 * @param {readonly string[]} texts
 */
function facts(element, texts) {
  const wanted = texts.filter((text) => text !== '');
  const parent = part(element, 'facts');
  while (parent.children.length > wanted.length) parent.lastElementChild?.remove();
  for (const [k, text] of wanted.entries()) {
    const child = parent.children[k] ?? parent.appendChild(html('span'));
    say(child, text);
  }
}

/**
 * @param {HTMLElement} element
 * @param {BatchState} batch
 */
function drawBatch(element, batch) {
  const { counts, total, outcome, failures, millisecondsLeft, devices, error, site } = batch;
  const { done, failed, running, loading, seconds } = counts;
  const known = total ?? (outcome === 'running' ? undefined : done + failed);
  say(part(element, 'title'), `Batch of ${total === undefined ? 'jobs' : plural(total, 'job')}`);
  const left = millisecondsLeft === undefined ? time(seconds * 1000) : `${time(millisecondsLeft)} left`;
  const ends = { done: 'done', failed: 'failed', cancelled: 'cancelled' };
  say(part(element, 'left'), outcome === 'running' ? left : `${ends[outcome]} after ${time(seconds * 1000)}`);
  const share = known === undefined || known === 0 ? undefined : (done + failed) / known;
  drawBar(part(element, 'bar'), 'progress of the batch', share, known ? failed / known : 0);
  facts(element, [
    `${done}${total === undefined ? '' : ` of ${total}`} done`,
    failed > 0 ? `${failed} failed` : '',
    outcome === 'running' ? `${running} running` : '',
    outcome === 'running' && loading > 0 ? `${loading} loading or waiting` : '',
    seconds > 0 ? `${((done + failed) / seconds).toPrecision(3)} jobs/s` : '',
    ...devices.map(({ device, jobs }) => `${device}: ${jobs}`),
    site ?? '',
  ]);
  const errors = [
    ...(error === undefined ? [] : [{ key: 'batch', text: error, outcome }]),
    ...failures.map((failure) => ({
      key: String(failure.index),
      text: `job ${failure.index}${failure.name === undefined ? '' : ` (${failure.name})`}: ${failure.error}`,
      outcome: 'failed',
    })),
  ];
  each(
    part(element, 'errors'),
    errors,
    ({ key }) => key,
    () => html('p', { class: 'error' }),
    (line, one) => {
      say(line, one.text);
      set(line, { class: `error ${one.outcome}` });
    },
  );
}

/** @param {(program: number) => void} select */
export function showEnded(select) {
  const make = () => {
    const button = html('button', { type: 'button', class: 'plain', 'data-part': 'name' });
    const element = html(
      'li',
      {},
      html('h3', {}, button),
      html('span', { class: 'chip', 'data-part': 'outcome' }),
      html('p', { class: 'facts quiet', 'data-part': 'facts' }),
      html('span', { class: 'time quiet', 'data-part': 'time' }),
      html('p', { class: 'error', 'data-part': 'error', hidden: true }),
    );
    button.addEventListener('click', () => select(Number(element.dataset.program)));
    return element;
  };
  /** @param {DashboardState} state */
  return ({ ended, totals }) => {
    const { done, failed, cancelled } = totals;
    say(byId('totals'), `${done} done, ${failed} failed, ${cancelled} cancelled since the dashboard began`);
    each(
      byId('ended-list'),
      ended,
      ({ id }) => String(id),
      make,
      (element, compute) => {
        const { title, outcome, error, count, milliseconds, devices, site, isCompiled } = compute;
        element.dataset.program = String(compute.program ?? '');
        const name = part(element, 'name');
        say(name, title);
        set(name, { disabled: compute.program === undefined });
        const chip = part(element, 'outcome');
        say(chip, outcome);
        chip.dataset.state = outcome;
        const each = count === 1 ? time(milliseconds) : `${count} × ${time(milliseconds / count)}`;
        say(part(element, 'time'), each);
        facts(element, [devices.join(', '), isCompiled ? 'compiled' : '', heldOf(compute), site ?? '']);
        const line = part(element, 'error');
        say(line, error ?? '');
        set(line, { hidden: error === undefined, class: `error ${outcome}` });
      },
    );
  };
}

/** The share of all that runs: for the title of the window. @param {DashboardState} state */
export function shareOf({ active, batches }) {
  const shares = [
    ...batches.flatMap(({ outcome, total, counts }) =>
      outcome === 'running' && total ? [(counts.done + counts.failed) / total] : [],
    ),
    ...active.flatMap(({ share }) => (share === undefined ? [] : [share])),
  ];
  return shares[0];
}
