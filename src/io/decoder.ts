/**
 * Decoding of foreign formats in threads that can be stopped: broken bytes may hold a decoder for ever, and
 * never the event loop. A thread is started when there is something to decode and none is free, does one job
 * at a time, and ends when it has had nothing to do for a while. It asks for the bytes that it needs: files
 * are opened and read here.
 *
 * The threads' own code is in `decoding/`. Called by `parquet.ts` and `zarr.ts`.
 */
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { config } from '../host/config.js';
import { ArgumentError, expected, FileError, InternalError, MemoryError } from '../host/errors.js';
import type { FileRange } from './data-file.js';

/** Bytes that a thread asks for. */
export interface DecoderRange extends FileRange {
  /** Of the file in its folder, where it is in one. */
  readonly name?: string;
}

export interface DecoderBytes {
  /** All of a buffer of its own, which goes to the thread. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Of the whole file. */
  readonly byteLength: number;
}

/** Why there is no result. */
export type DecoderFailure =
  | {
      readonly kind: 'refused';
      readonly what: string;
      readonly received: string;
      readonly code: 'ERR_FILE_FORMAT' | 'ERR_FILE_CHECKSUM';
      readonly fileName?: string;
    }
  /** An optional package is not installed. */
  | { readonly kind: 'package'; readonly name: string }
  | { readonly kind: 'memory'; readonly byteLength: number }
  /** `doing`: as reported last. */
  | { readonly kind: 'stuck'; readonly doing: string; readonly milliseconds: number }
  /** The thread ended: there was not enough memory for what it decoded. */
  | { readonly kind: 'ended'; readonly message: string }
  /** A defect of the decoder's. */
  | { readonly kind: 'thrown'; readonly message: string };

export interface DecoderJob {
  readonly kind: string;
  readonly task: unknown;
  /** Undefined: there is no file of that name. An error rejects the job. */
  read(range: DecoderRange): Promise<DecoderBytes | undefined>;
  /** The function that a user called, what it decodes, and the file or folder: for errors. */
  readonly op: string;
  readonly what: string;
  readonly path: string;
}

function errorOf({ op, what, path }: DecoderJob, failure: DecoderFailure): Error {
  const refused = (wanted: string, received: string, code: string, file = path): Error =>
    new FileError(expected(op, wanted, received, file), file, code);
  switch (failure.kind) {
    case 'refused': {
      const { fileName, received, code } = failure;
      return refused(failure.what, received, code, fileName === undefined ? path : join(path, fileName));
    }
    case 'package': {
      const hint = `npm install ${failure.name}`;
      return new ArgumentError(expected(op, `the package ${failure.name}`, 'none', hint));
    }
    case 'memory':
      return new MemoryError(
        expected(op, `memory for ${what}`, `none for ${failure.byteLength} bytes`, path),
      );
    case 'stuck': {
      const part = failure.doing === '' ? what : failure.doing;
      const received = `no progress in ${failure.milliseconds} ms`;
      return refused(`${part} to be decoded`, received, 'ERR_FILE_TIMEOUT');
    }
    case 'ended':
      return refused(`${what} to be decoded`, failure.message, 'ERR_FILE_FORMAT');
    case 'thrown':
      return new InternalError(expected(op, `${what} to be decoded`, failure.message, path));
  }
}

type Message =
  | { readonly type: 'ask'; readonly call: number; readonly range: DecoderRange }
  | { readonly type: 'progress'; readonly doing: string }
  | { readonly type: 'done'; readonly value: unknown }
  | { readonly type: 'failed'; readonly failure: DecoderFailure };

/** A job of which nobody knows yet how it ends. */
interface Pending {
  readonly job: DecoderJob;
  readonly settle: (end: () => void) => void;
  readonly resolve: (value: unknown) => void;
  readonly reject: (reason: unknown) => void;
}

/** How long a thread waits for another job. */
const IDLE_MS = 10_000;
/** The time without progress that bytes in hand add to the deadline: a millisecond for each of so many. */
const BYTES_IN_A_MS = 1024;

const MAX_THREADS = 4;

export class Decoder {
  readonly #script: URL;
  readonly #deadline: () => number;
  readonly #waiting: Pending[] = [];
  readonly #running = new Map<Pending, Thread>();
  readonly #free: Thread[] = [];
  #threads = 0;

  /** `deadline` gives the milliseconds that a job may go without progress. */
  constructor(script: URL, deadline: () => number) {
    this.#script = script;
    this.#deadline = deadline;
  }

  /**
   * The result of a job. Rejects with its error, or at once with the signal's reason, after which its thread
   * is stopped.
   */
  decode(job: DecoderJob, signal?: AbortSignal): Promise<unknown> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const abort = (): void => this.#abort(pending, signal?.reason);
      const settle = (end: () => void): void => {
        signal?.removeEventListener('abort', abort);
        end();
      };
      const pending: Pending = { job, settle, resolve, reject };
      signal?.addEventListener('abort', abort);
      this.#waiting.push(pending);
      this.#startNext();
    });
  }

  #abort(pending: Pending, reason: unknown): void {
    const at = this.#waiting.indexOf(pending);
    if (at >= 0) this.#waiting.splice(at, 1);
    else this.#running.get(pending)?.stop();
    this.#running.delete(pending);
    pending.settle(() => pending.reject(reason));
  }

  #startNext(): void {
    const most = Math.min(MAX_THREADS, availableParallelism());
    while (this.#waiting.length > 0) {
      const thread = this.#free.pop() ?? (this.#threads < most ? this.#start() : undefined);
      if (thread === undefined) return;
      const pending = this.#waiting.shift()!;
      this.#running.set(pending, thread);
      thread.run(pending.job, (end) => {
        this.#running.delete(pending);
        if (thread.isAlive) this.#free.push(thread);
        pending.settle(() => ('value' in end ? pending.resolve(end.value) : pending.reject(end.error)));
        this.#startNext();
      });
    }
  }

  #start(): Thread {
    this.#threads++;
    const thread = new Thread(this.#script, this.#deadline, () => {
      this.#threads--;
      const at = this.#free.indexOf(thread);
      if (at >= 0) this.#free.splice(at, 1);
      this.#startNext();
    });
    return thread;
  }
}

type End = { readonly value: unknown } | { readonly error: unknown };

interface Running {
  readonly job: DecoderJob;
  readonly end: (end: End) => void;
  /** Bytes that were asked for and are not there: the thread may have nothing to do. */
  asked: number;
  /** Bytes that were given since there was progress. */
  inHand: number;
  doing: string;
  /** A failure to read, which is passed to the thread. */
  failure?: { readonly reason: unknown };
}

/** A thread that decodes. It keeps the process alive while it has a job. */
class Thread {
  readonly #worker: Worker;
  readonly #deadline: () => number;
  readonly #gone: () => void;
  #running: Running | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isAlive = true;

  constructor(script: URL, deadline: () => number, gone: () => void) {
    this.#deadline = deadline;
    this.#gone = gone;
    // Options of the process, such as those of a program that is given as text, are not for this thread.
    this.#worker = new Worker(script, { execArgv: [], name: 'weft-decoder' });
    this.#worker.on('message', (message: Message) => this.#receive(message));
    this.#worker.on('error', (error) => this.#fail({ kind: 'ended', message: error.message }));
    this.#worker.on('exit', () => this.#fail({ kind: 'ended', message: 'its thread ended' }));
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  run(job: DecoderJob, end: (end: End) => void): void {
    this.#running = { job, end, asked: 0, inHand: 0, doing: '' };
    this.#worker.ref();
    this.#worker.postMessage({ type: 'job', kind: job.kind, task: job.task });
    this.#watch();
  }

  /** Ends the thread, and its job without a word. */
  stop(): void {
    this.#running = undefined;
    this.#leave();
    void this.#worker.terminate();
  }

  #leave(): void {
    clearTimeout(this.#timer);
    if (!this.#isAlive) return;
    this.#isAlive = false;
    this.#gone();
  }

  #receive(message: Message): void {
    const running = this.#running;
    if (running === undefined) return;
    running.inHand = 0;
    if (message.type === 'done') {
      this.#end({ value: message.value });
      return;
    }
    if (message.type === 'failed') {
      const { failure, job } = running;
      this.#end({ error: failure === undefined ? errorOf(job, message.failure) : failure.reason });
      return;
    }
    if (message.type === 'progress') running.doing = message.doing;
    else void this.#answer(running, message);
    this.#watch();
  }

  async #answer(running: Running, { call, range }: Message & { type: 'ask' }): Promise<void> {
    running.asked++;
    try {
      const file = await running.job.read(range);
      if (this.#running !== running) return;
      running.inHand += file?.bytes.byteLength ?? 0;
      this.#worker.postMessage({ type: 'bytes', call, file }, file === undefined ? [] : [file.bytes.buffer]);
    } catch (reason) {
      if (this.#running !== running) return;
      running.failure ??= { reason };
      this.#worker.postMessage({ type: 'unreadable', call });
    }
    running.asked--;
    this.#watch();
  }

  /** Begins to wait for progress. While bytes are being read, there need be none. */
  #watch(): void {
    clearTimeout(this.#timer);
    const running = this.#running;
    if (running === undefined || running.asked > 0) return;
    const milliseconds = this.#deadline() + running.inHand / BYTES_IN_A_MS;
    const timer = setTimeout(() => {
      // If this thread was busy, messages wait: they come before this.
      setImmediate(() => {
        if (this.#timer !== timer || this.#running !== running) return;
        this.#fail({ kind: 'stuck', doing: running.doing, milliseconds: Math.round(milliseconds) });
        void this.#worker.terminate();
      });
    }, milliseconds);
    this.#timer = timer;
  }

  /** The thread is of no more use. */
  #fail(failure: DecoderFailure): void {
    const running = this.#running;
    this.#leave();
    if (running !== undefined) this.#end({ error: errorOf(running.job, failure) });
  }

  #end(end: End): void {
    const { end: settle } = this.#running!;
    this.#running = undefined;
    clearTimeout(this.#timer);
    this.#worker.unref();
    if (this.#isAlive) this.#timer = setTimeout(() => this.stop(), IDLE_MS).unref();
    settle(end);
  }
}

/** The decoder of this thread's files. */
export const decoder = new Decoder(
  new URL('./decoding/worker.js', import.meta.url),
  () => config().decodeDeadline,
);
