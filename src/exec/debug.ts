/**
 * What `WEFT_DEBUG` prints to stderr, and `WEFT_DUMP` writes to a folder: graphs, passes, kernels, sources, plans, times. The words are
 * those of `config.ts`. Nothing is formatted unless it is asked for.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { config, type DebugTopic } from '../config.js';

let dumped = 0;

/** Prints and dumps a text under a topic; `text` is called only if someone wants it. */
export function debug(topic: DebugTopic, title: string, text: () => string): void {
  const { debug: topics, dumpFolder } = config();
  const printed = topics.has(topic);
  if (!printed && dumpFolder === undefined) return;
  const body = text();
  if (printed) process.stderr.write(`weft ${topic}: ${title}\n${body}\n`);
  if (dumpFolder === undefined) return;
  mkdirSync(dumpFolder, { recursive: true });
  const name = `${String(dumped++).padStart(5, '0')}-${topic}-${title.replace(/[^\w.-]+/g, '_').slice(0, 80)}`;
  writeFileSync(join(dumpFolder, `${name}.${topic === 'cuda' ? 'cu' : 'txt'}`), `${body}\n`);
}

/** Whether anybody wants a topic. */
export const wants = (topic: DebugTopic): boolean =>
  config().debug.has(topic) || config().dumpFolder !== undefined;
