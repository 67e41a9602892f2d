/** The page: takes states from the stream of events and has each part shown. */

import { showCaches, showDevices } from './devices.js';
import { byId, html, say } from './elements.js';
import { percent, time } from './format.js';
import { showRates } from './history.js';
import { drawPlan } from './plan.js';
import { drawRecording, showStrip } from './timeline.js';
import { shareOf, showEnded, showWork } from './work.js';

/** @import { DashboardState, PageProgram, PageTimeline } from '../state.js' */

/** The program whose plan a person chose; undefined: that of what runs. @type {number | undefined} */
let chosen;
/** The one that is drawn. @type {number | undefined} */
let drawn;
let timelineDrawn = 0;
/** @type {PageTimeline | null} */
let recording = null;
/** @type {DashboardState | undefined} */
let state;
/** Ends that were announced, by their number. @type {Set<number> | undefined} */
let told;

const select = (/** @type {number} */ program) => {
  if (!(program > 0)) return;
  chosen = program;
  byId('follow').hidden = false;
  void showPlan();
  byId('plan').scrollIntoView({ block: 'nearest' });
};
const drawWork = showWork(select);
const drawEnded = showEnded(select);

/** @param {string} path @returns {Promise<unknown>} */
async function ask(path) {
  const answer = await fetch(path).catch(() => undefined);
  return answer?.ok === true ? answer.json() : undefined;
}

/** Draws the plan that was chosen, else that of the first compute that runs, else of the last that ended. */
async function showPlan() {
  const ids = [
    chosen,
    ...(state?.active ?? []).map(({ program }) => program),
    ...(state?.ended ?? []).map(({ program }) => program),
  ];
  const program = ids.find((id) => id !== undefined);
  if (program === undefined) {
    if (drawn === undefined) byId('plan-body').replaceChildren(html('p', { class: 'empty' }, 'No plan yet.'));
    return;
  }
  if (program === drawn) return;
  drawn = program;
  const answer = /** @type {PageProgram | undefined} */ (await ask(`program/${program}`));
  // Another was chosen meanwhile.
  if (drawn !== program) return;
  if (answer !== undefined) drawPlan(answer);
  else byId('plan-body').replaceChildren(html('p', { class: 'empty' }, 'This plan is not kept any more.'));
}

async function showRecording() {
  const { timeline = 0 } = state ?? {};
  if (timeline === timelineDrawn) return;
  timelineDrawn = timeline;
  recording = /** @type {PageTimeline | null} */ ((await ask('timeline')) ?? null);
  drawRecording(recording);
}

/** Tells people who do not see the page of what ended badly. @param {DashboardState} next */
function tell({ ended, batches }) {
  const ends = [...ended, ...batches.filter(({ outcome }) => outcome !== 'running')];
  const news =
    told === undefined ? [] : ends.filter(({ id, outcome }) => outcome !== 'done' && !told?.has(id));
  told = new Set(ends.map(({ id }) => id));
  if (news.length > 0)
    say(
      byId('news'),
      news.map((one) => `${'title' in one ? one.title : 'A batch'} ${one.outcome}`).join('. '),
    );
}

/** @param {DashboardState} next */
function show(next) {
  state = next;
  const { program, pid, node, now } = next;
  say(byId('program'), program);
  say(byId('about'), `process ${pid}, Node.js ${node}, watched for ${time(now)}`);
  const share = shareOf(next);
  document.title = `${share === undefined ? '' : `${percent(share)} · `}${program} · Weft`;
  showRates(next);
  drawWork(next);
  drawEnded(next);
  showDevices(next);
  showCaches(next);
  showStrip(next);
  tell(next);
  const record = /** @type {HTMLButtonElement} */ (byId('record'));
  record.disabled = next.recording;
  say(record, next.recording ? 'Recording …' : 'Record 2 seconds');
  void showPlan();
  void showRecording();
}

const LINKS = {
  live: 'live',
  lost: 'no connection: the program may have ended',
  over: 'the program has ended',
};

/** @param {keyof typeof LINKS} link */
function showLink(link) {
  const element = byId('link');
  element.dataset.state = link;
  say(element, LINKS[link]);
  if (link !== 'live') /** @type {HTMLButtonElement} */ (byId('record')).disabled = true;
}

const events = new EventSource('events');
events.addEventListener('state', (event) => {
  showLink('live');
  show(JSON.parse(event.data));
});
events.addEventListener('end', () => {
  events.close();
  showLink('over');
});
events.addEventListener('error', () => showLink('lost'));

byId('record').addEventListener('click', () => {
  /** @type {HTMLButtonElement} */ (byId('record')).disabled = true;
  void fetch('record', { method: 'POST' });
});
byId('follow').addEventListener('click', () => {
  chosen = undefined;
  byId('follow').hidden = true;
  void showPlan();
});
new ResizeObserver(() => {
  if (state !== undefined) showStrip(state);
  drawRecording(recording);
}).observe(byId('timeline'));
drawRecording(null);
