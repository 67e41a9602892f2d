/**
 * Output of `WEFT_DEBUG` to stderr, and of `WEFT_DUMP` to a folder: graphs, passes, kernels, sources,
 * plans, times. The words are those of `config.ts`. Nothing is formatted unless it is asked for.
 */
import { closeSync, constants, existsSync, mkdirSync, openSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { config, type DebugTopic } from '../../host/config.js';
import { ArgumentError, expected } from '../../host/errors.js';

const EXTENSION: Partial<Record<DebugTopic, string>> = { cuda: 'cu' };

let dumped = 0;
/** Not blocking: a pipe that has a dump's name is an error, and is not waited for. */
const WRITING = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NONBLOCK;

/** Prints and dumps a text under a topic; `text` is called only if someone wants it. */
export function debug(topic: DebugTopic, title: string, text: () => string): void {
  const { debug: topics, dumpFolder } = config();
  const printed = topics.has(topic);
  if (!printed && dumpFolder === undefined) return;
  const body = text();
  if (printed) process.stderr.write(`weft ${topic}: ${title}\n${body}\n`);
  if (dumpFolder === undefined) return;
  const name = `${String(dumped++).padStart(5, '0')}-${topic}-${title.replace(/[^\w.-]+/g, '_').slice(0, 80)}`;
  try {
    makeFolder(dumpFolder);
    writeDump(join(dumpFolder, `${name}.${EXTENSION[topic] ?? 'txt'}`), `${body}\n`);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ArgumentError(expected('config', 'WEFT_DUMP to be a folder to write to', why));
  }
}

function writeDump(path: string, text: string): void {
  const file = openSync(path, WRITING);
  try {
    writeFileSync(file, text);
  } finally {
    closeSync(file);
  }
}

/** Node's `recursive` never returns where the kernel answers ENOENT, as in /proc. */
function makeFolder(path: string): void {
  if (existsSync(path)) return;
  makeFolder(dirname(path));
  mkdirSync(path);
}

/** Whether anybody wants a topic. */
export const wants = (topic: DebugTopic): boolean =>
  config().debug.has(topic) || config().dumpFolder !== undefined;
