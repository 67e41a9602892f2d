/**
 * How processes end that tests start for that: with which code, after what output, and how soon after they
 * meant to.
 */
import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const ROOT = resolve(import.meta.dirname, '../..');
/** The built package, as scripts import it. */
export const LIBRARY = pathToFileURL(resolve(ROOT, 'dist/weft/index.js')).href;
/** The built addon, as scripts require it. */
export const ADDON = resolve(ROOT, 'build/Release/weft.node');

/** The text that a script prints right before it means to leave. */
export const LEAVING = 'leaving\n';

export interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Both streams, without `LEAVING`. */
  readonly output: string;
}

export interface TimedEnding extends Ending {
  /** From `LEAVING` to the end; NaN without it. */
  readonly milliseconds: number;
}

interface Options {
  readonly module?: boolean;
  /** Of Node. */
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Sent at `LEAVING`. */
  readonly signal?: NodeJS.Signals;
}

const MOST_MS = 60_000;

/** Runs a script as a process of its own, until it ends by itself. */
export async function timedEndingOf(
  script: string,
  { module = false, flags = [], env = {}, signal }: Options = {},
): Promise<TimedEnding> {
  const type = module ? ['--input-type=module'] : [];
  const child = spawn(process.execPath, [...flags, ...type, '-e', script], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  const timer = setTimeout(() => child.kill('SIGKILL'), MOST_MS);
  let output = '';
  let leaving = Number.NaN;
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (part) => {
      output += String(part);
      if (!Number.isNaN(leaving) || !output.includes(LEAVING)) return;
      leaving = performance.now();
      if (signal !== undefined) child.kill(signal);
    });
  }
  const [code, killedBy] = await new Promise<[number | null, NodeJS.Signals | null]>((done) =>
    child.on('close', (...ending) => done(ending)),
  );
  clearTimeout(timer);
  const milliseconds = performance.now() - leaving;
  return { code, signal: killedBy, output: output.replace(LEAVING, ''), milliseconds };
}

export async function endingOf(script: string, options?: Options): Promise<Ending> {
  const { code, signal, output } = await timedEndingOf(script, options);
  return { code, signal, output };
}
